-- Fences: mint(tree, span) reserves span of them and returns the first, in decimal.
--
-- Key: <tree>:fence. Larger than every fence the tree gave out, than TIME, and than whatever the client has met on this
-- store, so it rises even if the stored one was lost in a failover. Decimal text compared by length and then by
-- character, and added digit by digit: a Lua number would be rounded above 2^53.
-- The key expires 60 s after TIME has passed its value, so it cannot vanish while it is still needed.
-- Atomic with the lock: nothing else runs between the mint and the write of the lock.
local MAX_FENCE = '9223372036854775807'

local function isLarger(a, b)
  if #a ~= #b then return #a > #b end
  return a > b
end

local function plus(text, n)
  local digits, at = {}, #text
  while at > 0 or n > 0 do
    local sum = n + (at > 0 and string.byte(text, at) - 48 or 0)
    table.insert(digits, 1, sum % 10)
    n = math.floor(sum / 10)
    at = at - 1
  end
  return table.concat(digits)
end

local function isFence(text)
  return string.match(text, '^[1-9]%d*$') and not isLarger(text, MAX_FENCE)
end

local function mint(tree, span)
  local key = tree .. ':fence'
  local stored = redis.call('GET', key)
  local last = seen
  if stored and isFence(stored) then
    if isLarger(stored, last) then last = stored end
  elseif stored and fencing == 'required' then
    refuse('state', 'the fence at ' .. key .. ' is not a positive 64-bit number')
  end
  local first = nowUs
  if not isLarger(first, last) then first = plus(last, 1) end
  local upTo = plus(first, span - 1)
  if isLarger(upTo, MAX_FENCE) then refuse('state', 'the fence at ' .. key .. ' has reached its largest value') end
  local keepMs = math.max(0, math.floor(tonumber(upTo) / 1000) - nowMs) + 60000
  redis.call('SET', key, upTo, 'PX', string.format('%.0f', keepMs))
  return first, stored and not isFence(stored)
end
