-- inspect: who holds a key or something that conflicts with it, and who waits. Changes nothing.
--
-- Words: limit (holders and waiters listed at most, each). The L1 is reported with everything below it.
-- Result: {'report', waiters in all, {holder, ...}, {waiter, ...}} with
--   holder = {l2, id, fence, label, metadata as JSON, ms since the grant, ms left}, waiter = {l2, id, label, ms waited}.
-- Atomic: one snapshot. Reads of the line are bounded: beyond 1,000 entries the count is that of the whole tree.
local function holderAt(tree, l2)
  local lock = read(lockOf(tree, l2))
  if not lock then return nil end
  local heldMs = tostring(math.max(0, nowMs - tonumber(lock.since)))
  return { l2, lock.id, lock.fence, lock.by, lock.meta, heldMs, tostring(lock.left) }
end

local function inspect(tree, l2, _, _, words)
  local limit = tonumber(words[1])
  local holders, waiters, count = {}, {}, 0
  holders[1] = holderAt(tree, '')
  local below = l2 == '' and call('ZRANGEBYSCORE', tree .. ':below', nowMs, '+inf', 'LIMIT', 0, limit) or { l2 }
  for _, each in ipairs(below) do
    local holder = #holders < limit and holderAt(tree, each)
    if holder then holders[#holders + 1] = holder end
  end
  for _, id in ipairs(call('ZRANGE', tree .. ':line', 0, 999)) do
    local entry = entryOf(tree, id)
    if entry and (l2 == '' or entry.l2 == '' or entry.l2 == l2) then
      count = count + 1
      if #waiters < limit then
        local waited = math.max(0, nowMs - math.floor(tonumber(entry.arrival) / 1000))
        waiters[#waiters + 1] = { entry.l2, id, entry.by, tostring(waited) }
      end
    end
  end
  local all = call('ZCARD', tree .. ':line')
  if all > 1000 then count = all end
  return { 'report', tostring(count), holders, waiters }
end
