-- Waiters of a tree: who waits, in which order, and who of them is alive.
--
-- Keys: <tree>:queue, :line, :live, :waiting (see shared.lua); each change touches all four, in one step.
-- Arrival numbers are TIME in microseconds, made unique within the tree: they order waiters across a restart that lost
-- the queue, and a client that was taken for dead comes back under the number it was given.
local function arrivalText(n)
  return string.format('%016.0f', n)
end

local function memberOf(l2, arrival, id)
  if l2 == '' then return '1' .. arrival .. id end
  return '2' .. l2 .. '\255' .. arrival .. id
end

-- The entry of a request, nil if it does not wait.
local function entryOf(tree, id)
  local record = call('HGET', tree .. ':waiting', id)
  if not record then return nil end
  local arrival, l2, to, by = match(record, '^(%d+)\255(.-)\255(.-)\255(.*)$')
  return { id = id, arrival = arrival, l2 = l2, channel = to, by = by }
end

local function strike(tree, entry)
  call('ZREM', tree .. ':queue', memberOf(entry.l2, entry.arrival, entry.id))
  call('ZREM', tree .. ':line', entry.id)
  call('ZREM', tree .. ':live', entry.id)
  call('HDEL', tree .. ':waiting', entry.id)
end

-- Takes waiters out that nobody has heard of in time. Returns how many.
local function strikeDead(tree)
  local dead = call('ZRANGEBYSCORE', tree .. ':live', '-inf', nowMs, 'LIMIT', 0, 500)
  for _, id in ipairs(dead) do
    local entry = entryOf(tree, id)
    if entry then strike(tree, entry) else call('ZREM', tree .. ':live', id) end
  end
  return #dead
end

local function heartbeat(tree, id)
  call('ZADD', tree .. ':live', nowMs + ALIVE, id)
  if call('PTTL', tree .. ':line') < QUEUE_TTL / 2 then
    for _, suffix in ipairs({ ':queue', ':line', ':live', ':waiting' }) do
      call('PEXPIRE', tree .. suffix, QUEUE_TTL)
    end
  end
end

-- Puts a request in line, under its old number if it has one that can be true. Returns its number.
local function stand(tree, l2, id, old)
  local line = tree .. ':line'
  if call('ZCARD', line) >= MAX_WAITERS then refuse('full', 'the tree has ' .. MAX_WAITERS .. ' waiters') end
  local arrival
  if #old == 16 and not isLarger(old, nowUs) then
    arrival = old
  else
    local last = call('ZRANGE', line, -1, -1, 'WITHSCORES')[2]
    arrival = arrivalText(math.max(tonumber(nowUs), last and tonumber(last) + 1 or 0))
  end
  call('ZADD', tree .. ':queue', 0, memberOf(l2, arrival, id))
  call('ZADD', line, arrival, id)
  call('HSET', tree .. ':waiting', id, arrival .. '\255' .. l2 .. '\255' .. channel .. '\255' .. label)
  heartbeat(tree, id)
  return arrival
end

-- First waiter for the L1 itself (l2 = '') or for one L2: arrival and id, nil if there is none.
local function headOf(tree, l2)
  local from, to = '[1', '(2'
  if l2 ~= '' then
    from, to = '[2' .. l2 .. '\255', '[2' .. l2 .. '\255\255'
  end
  local head = call('ZRANGEBYLEX', tree .. ':queue', from, to, 'LIMIT', 0, 1)[1]
  if not head then return nil end
  local rest = sub(head, l2 == '' and 2 or #l2 + 3)
  return sub(rest, 1, 16), sub(rest, 17)
end

-- Whether somebody else came earlier and waits for something that conflicts. `arrival` is 0 for who is not in line.
local function isOvertaking(tree, l2, id, arrival)
  local function stands(earlier, who)
    return earlier and who ~= id and (arrival == '0' or earlier < arrival)
  end
  if l2 ~= '' then return stands(headOf(tree, '')) or stands(headOf(tree, l2)) end
  local first = call('ZRANGE', tree .. ':line', 0, 0, 'WITHSCORES')
  return first[1] and stands(arrivalText(tonumber(first[2])), first[1])
end
