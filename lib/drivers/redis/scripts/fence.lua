-- Fences: mint(tree, span) reserves span (text) of them and returns the first, in decimal.
--
-- Key: <tree>:fence. Larger than every fence the tree gave out, than TIME, and than whatever the client has met on this
-- store, so it rises even if the stored one was lost in a failover. Decimal text compared by length and then by
-- character, and added in parts: a Lua number would be rounded above 2^53.
-- The key expires 60 s after TIME has passed its value, so it cannot vanish while it is still needed. What is no fence is
-- put back where fences are required, without an end of its own: it stays until somebody has looked at it.
-- Atomic with the lock: nothing else runs between the mint and the write of the lock.
local MAX_FENCE = '9223372036854775807'

local function isLarger(a, b)
  if #a ~= #b then return #a > #b end
  return a > b
end

-- Adds a small number, nine digits at a time: those a Lua number holds exactly.
local function plus(text, n)
  if n == 0 then return text end
  local head, tail = sub(text, 1, -10), sub(text, -9)
  local sum, full = tonumber(tail) + n, 10 ^ #tail
  if sum < full then return head .. string.format('%0' .. #tail .. 'd', sum) end
  return plus(head == '' and '0' or head, 1) .. string.format('%0' .. #tail .. 'd', sum - full)
end

local function isFence(text)
  return find(text, '^[1-9]%d*$') and not isLarger(text, MAX_FENCE)
end

-- Writes the last fence of a tree, and when it may go. Returns what stood there.
local function store(key, upTo)
  local keepMs = '60000'
  if upTo ~= nowUs then
    keepMs = string.format('%.0f', 60000 + math.max(0, math.floor(tonumber(upTo) / 1000) - nowMs))
  end
  return call('SET', key, upTo, 'PXAT', endAfter(keepMs), 'GET')
end

local function mint(tree, span)
  local key = tree .. ':fence'
  local first = nowUs
  if not isLarger(first, seen) then first = plus(seen, 1) end
  local upTo = span == '1' and first or plus(first, tonumber(span) - 1)
  if isLarger(upTo, MAX_FENCE) then refuse('state', 'the fence at ' .. key .. ' has reached its largest value') end
  -- Nearly always TIME is ahead of what stands there: one command writes, and tells.
  local stored = store(key, upTo)
  if not stored then return first end
  if not isFence(stored) then
    if fencing ~= 'required' then return first, true end
    call('SET', key, stored)
    refuse('state', 'the fence at ' .. key .. ' is not a positive 64-bit number')
  end
  if isLarger(first, stored) then return first end
  first = plus(stored, 1)
  upTo = plus(stored, tonumber(span))
  if isLarger(upTo, MAX_FENCE) then
    store(key, stored)
    refuse('state', 'the fence at ' .. key .. ' has reached its largest value')
  end
  store(key, upTo)
  return first
end
