-- Wakes waiters: wakeTree(tree) all of a tree that could go now, wakeKey(tree, l2) those that one freed L2 lets go.
--
-- Reads the tree's waiting state and locks; shortens the woken waiter's life in <tree>:live, so that one that does not
-- come soon blocks nobody. Wakes exactly those that nothing stands before: a run of L2 waiters, one per key, or one L1
-- waiter when it is first in line and nothing below is held.
-- A message is the request ids for one channel, joined by commas, published once at the end of the call; those for the
-- calling client's own channel go back in its reply. Nothing is granted here: who is woken asks, and that grants.
local messages = {}

local function offer(tree, id)
  local entry = entryOf(tree, id)
  if not entry then return end
  -- LT: an offer repeated to one that never comes must not keep it alive.
  call('ZADD', tree .. ':live', 'XX', 'LT', nowMs + OFFERED, id)
  local known = messages[entry.channel]
  messages[entry.channel] = known and known .. ',' .. id or id
end

local function wakeHeadsBefore(tree, limit)
  local from = '[2'
  for _ = 1, MAX_WAITERS do
    local head = call('ZRANGEBYLEX', tree .. ':queue', from, '+', 'LIMIT', 0, 1)[1]
    if not head then return end
    local l2, arrival, id = match(head, '^2(.-)\255(%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d)(.*)$')
    if (not limit or arrival < limit) and call('EXISTS', tree .. '/' .. l2) == 0 then offer(tree, id) end
    from = '(2' .. l2 .. '\255\255'
  end
end

local function wakeTree(tree)
  if call('EXISTS', tree) == 1 then return end
  local arrival, id = headOf(tree, '')
  if not id or call('ZRANGE', tree .. ':line', 0, 0)[1] ~= id then return wakeHeadsBefore(tree, arrival) end
  if not heldBelow(tree) then offer(tree, id) end
end

local function wakeKey(tree, l2)
  local exclusive, first = headOf(tree, '')
  local arrival, id = headOf(tree, l2)
  if arrival and (not exclusive or arrival < exclusive) then
    if call('EXISTS', tree, tree .. '/' .. l2) == 0 then offer(tree, id) end
  elseif exclusive and call('ZRANGE', tree .. ':line', 0, 0)[1] == first then
    wakeTree(tree)
  end
end

-- After something in the tree came free: `l2` as for wakeKey, '' for the whole tree.
local function wake(tree, l2)
  if call('EXISTS', tree .. ':queue') == 0 then return end
  if strikeDead(tree) > 0 or l2 == '' then wakeTree(tree) else wakeKey(tree, l2) end
end
