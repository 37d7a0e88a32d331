// Written by `npm run generate` from lib/drivers/redis/scripts/*.lua: change those.

/** SHA-1 of {@link SCRIPT_TEXT}, as EVALSHA wants it. */
export const SCRIPT_SHA1 = 'ee6787791cd8593dc4c1d377f80a20ff8f2717e0';

/** The klock script. */
export const SCRIPT_TEXT = String.raw`local seen, channel, label, fencing = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local ALIVE, OFFERED, QUEUE_TTL = 3000, 1500, 60000
local MAX_WAITERS = 20000
local time = redis.call('TIME')
local nowUs = time[1] .. string.sub('00000' .. time[2], -6)
local nowMs = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local function lockOf(tree, l2)
  if l2 == '' then return tree end
  return tree .. '/' .. l2
end
local function refuse(kind, text)
  error({ klock = { kind, text } })
end
local function read(name)
  local f = redis.call('HMGET', name, 'id', 'token', 'fence', 'span', 'by', 'kept', 'n')
  if not f[1] or not f[2] or not f[3] then
    if redis.call('EXISTS', name) == 0 then return nil end
    refuse('state', 'the key ' .. name .. ' holds something that is not a lock')
  end
  local left = redis.call('PTTL', name)
  if left == -1 then refuse('state', 'the lock at ' .. name .. ' has no expiry') end
  if left < 0 then return nil end
  return { id = f[1], token = f[2], fence = f[3], span = f[4], by = f[5], kept = f[6], n = f[7], left = left }
end
local function noteBelow(tree, l2, ends)
  local below = tree .. ':below'
  redis.call('ZADD', below, string.format('%.0f', ends), l2)
  if redis.call('PTTL', below) < ends - nowMs then
    redis.call('PEXPIREAT', below, string.format('%.0f', ends))
  end
end
local function heldBelow(tree)
  local below = tree .. ':below'
  redis.call('ZREMRANGEBYSCORE', below, '-inf', string.format('(%.0f', nowMs))
  for _ = 1, 64 do
    local first = redis.call('ZRANGE', below, 0, 0)[1]
    if not first then return nil end
    if redis.call('EXISTS', tree .. '/' .. first) == 1 then
      return tonumber(redis.call('ZRANGE', below, -1, -1, 'WITHSCORES')[2])
    end
    redis.call('ZREM', below, first)
  end
  return nowMs
end
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
local function arrivalText(n)
  return string.format('%016.0f', n)
end
local function memberOf(l2, arrival, id)
  if l2 == '' then return '1' .. arrival .. id end
  return '2' .. l2 .. '\255' .. arrival .. id
end
local function entryOf(tree, id)
  local record = redis.call('HGET', tree .. ':waiting', id)
  if not record then return nil end
  local arrival, l2, to, by = string.match(record, '^(%d+)\255(.-)\255(.-)\255(.*)$')
  return { id = id, arrival = arrival, l2 = l2, channel = to, by = by }
end
local function strike(tree, entry)
  redis.call('ZREM', tree .. ':queue', memberOf(entry.l2, entry.arrival, entry.id))
  redis.call('ZREM', tree .. ':line', entry.id)
  redis.call('ZREM', tree .. ':live', entry.id)
  redis.call('HDEL', tree .. ':waiting', entry.id)
end
local function strikeDead(tree)
  local dead = redis.call('ZRANGEBYSCORE', tree .. ':live', '-inf', nowMs, 'LIMIT', 0, 500)
  for _, id in ipairs(dead) do
    local entry = entryOf(tree, id)
    if entry then strike(tree, entry) else redis.call('ZREM', tree .. ':live', id) end
  end
  return #dead
end
local function heartbeat(tree, id)
  redis.call('ZADD', tree .. ':live', nowMs + ALIVE, id)
  if redis.call('PTTL', tree .. ':line') < QUEUE_TTL / 2 then
    for _, suffix in ipairs({ ':queue', ':line', ':live', ':waiting' }) do
      redis.call('PEXPIRE', tree .. suffix, QUEUE_TTL)
    end
  end
end
local function stand(tree, l2, id, old)
  local line = tree .. ':line'
  if redis.call('ZCARD', line) >= MAX_WAITERS then refuse('full', 'the tree has ' .. MAX_WAITERS .. ' waiters') end
  local arrival
  if string.match(old, '^%d+$') and #old == 16 and not isLarger(old, nowUs) then
    arrival = old
  else
    local last = redis.call('ZRANGE', line, -1, -1, 'WITHSCORES')[2]
    arrival = arrivalText(math.max(tonumber(nowUs), last and tonumber(last) + 1 or 0))
  end
  redis.call('ZADD', tree .. ':queue', 0, memberOf(l2, arrival, id))
  redis.call('ZADD', line, arrival, id)
  redis.call('HSET', tree .. ':waiting', id, arrival .. '\255' .. l2 .. '\255' .. channel .. '\255' .. label)
  heartbeat(tree, id)
  return arrival
end
local function headOf(tree, l2)
  local from, to = '[1', '(2'
  if l2 ~= '' then
    from, to = '[2' .. l2 .. '\255', '[2' .. l2 .. '\255\255'
  end
  local head = redis.call('ZRANGEBYLEX', tree .. ':queue', from, to, 'LIMIT', 0, 1)[1]
  if not head then return nil end
  local rest = string.sub(head, l2 == '' and 2 or #l2 + 3)
  return string.sub(rest, 1, 16), string.sub(rest, 17)
end
local function isOvertaking(tree, l2, id, arrival)
  local function stands(earlier, who)
    return earlier and who ~= id and (arrival == '' or earlier < arrival)
  end
  if l2 ~= '' then return stands(headOf(tree, '')) or stands(headOf(tree, l2)) end
  local first = redis.call('ZRANGE', tree .. ':line', 0, 0, 'WITHSCORES')
  return first[1] and stands(arrivalText(tonumber(first[2])), first[1])
end
local messages = {}
local function offer(tree, id)
  local entry = entryOf(tree, id)
  if not entry then return end
  redis.call('ZADD', tree .. ':live', 'XX', nowMs + OFFERED, id)
  local known = messages[entry.channel]
  messages[entry.channel] = known and known .. ',' .. id or id
end
local function wakeHeadsBefore(tree, limit)
  local from = '[2'
  for _ = 1, MAX_WAITERS do
    local head = redis.call('ZRANGEBYLEX', tree .. ':queue', from, '+', 'LIMIT', 0, 1)[1]
    if not head then return end
    local l2, arrival, id = string.match(head, '^2(.-)\255(%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d)(.*)$')
    if (not limit or arrival < limit) and redis.call('EXISTS', tree .. '/' .. l2) == 0 then offer(tree, id) end
    from = '(2' .. l2 .. '\255\255'
  end
end
local function wakeTree(tree)
  if redis.call('EXISTS', tree) == 1 then return end
  local arrival, id = headOf(tree, '')
  if not id or redis.call('ZRANGE', tree .. ':line', 0, 0)[1] ~= id then return wakeHeadsBefore(tree, arrival) end
  if not heldBelow(tree) then offer(tree, id) end
end
local function wakeKey(tree, l2)
  local exclusive, first = headOf(tree, '')
  local arrival, id = headOf(tree, l2)
  if arrival and (not exclusive or arrival < exclusive) then
    if redis.call('EXISTS', tree, tree .. '/' .. l2) == 0 then offer(tree, id) end
  elseif exclusive and redis.call('ZRANGE', tree .. ':line', 0, 0)[1] == first then
    wakeTree(tree)
  end
end
local function wake(tree, l2)
  if redis.call('EXISTS', tree .. ':queue') == 0 then return end
  if strikeDead(tree) > 0 or l2 == '' then wakeTree(tree) else wakeKey(tree, l2) end
end
local function grant(tree, l2, id, token, ttl, span, meta)
  local lock = lockOf(tree, l2)
  local ends = nowMs + ttl
  local fence, repaired = mint(tree, span)
  redis.call('HSET', lock, 'id', id, 'token', token, 'fence', fence, 'span', span, 'at', string.format('%.0f', nowMs),
    'by', label, 'meta', meta, 'n', '0')
  redis.call('PEXPIREAT', lock, string.format('%.0f', ends))
  if l2 ~= '' then
    redis.call('ZREMRANGEBYSCORE', tree .. ':below', '-inf', string.format('(%.0f', nowMs))
    noteBelow(tree, l2, ends)
  end
  return { 'granted', fence, tostring(span), string.format('%.0f', ttl), repaired and 'repaired' or '' }
end
local function conflict(tree, l2, own)
  if own then return own.by or '', own.left end
  if l2 ~= '' then
    local above = read(tree)
    if above then return above.by or '', above.left end
    return nil
  end
  local ends = heldBelow(tree)
  if ends then return '', ends - nowMs end
  return nil
end
local function acquire(tree, l2, id, token, ttl, notAfter, mode, arrival, span, meta)
  if nowMs > notAfter then return { 'expired' } end
  local lock = lockOf(tree, l2)
  local queue, gone = tree .. ':queue', tree .. ':gone'
  local inTheWay = l2 == '' and redis.call('EXISTS', lock, queue, gone, tree .. ':below')
    or redis.call('EXISTS', lock, queue, gone, tree)
  if inTheWay == 0 then return grant(tree, l2, id, token, ttl, span, meta) end
  local goneUntil = redis.call('ZSCORE', gone, id)
  if goneUntil and tonumber(goneUntil) > nowMs then return { 'gone' } end
  local own = read(lock)
  if own and own.id == id then return { 'granted', own.fence, own.span, tostring(own.left), '' } end
  local struck = strikeDead(tree)
  local entry = entryOf(tree, id)
  if entry then arrival = entry.arrival end
  local holder, left = conflict(tree, l2, own)
  local overtaking = isOvertaking(tree, l2, id, arrival)
  local result
  if not holder and not overtaking then
    if entry then strike(tree, entry) end
    result = grant(tree, l2, id, token, ttl, span, meta)
  elseif mode == 'queue' then
    if entry then heartbeat(tree, id) else arrival = stand(tree, l2, id, arrival) end
    result = { 'queued', arrival, (not overtaking and left) and tostring(left) or '-1' }
  else
    if entry then
      strike(tree, entry)
      struck = struck + 1
    end
    result = { 'busy', holder or '', tostring(left or -1) }
  end
  if struck > 0 then wake(tree, '') end
  return result
end
local function release(tree, l2, id, token, keepMs, goneUntil)
  local lock = lockOf(tree, l2)
  if goneUntil > nowMs then
    local gone = tree .. ':gone'
    redis.call('ZREMRANGEBYSCORE', gone, '-inf', nowMs)
    redis.call('ZADD', gone, string.format('%.0f', goneUntil), id)
    if redis.call('PTTL', gone) < goneUntil - nowMs then
      redis.call('PEXPIREAT', gone, string.format('%.0f', goneUntil))
    end
  end
  local held = redis.call('HMGET', lock, 'token', 'kept')
  if held[1] == token and keepMs > 0 then
    local ends = nowMs + keepMs
    redis.call('HSET', lock, 'id', '', 'token', '', 'kept', token)
    redis.call('PEXPIREAT', lock, string.format('%.0f', ends))
    if l2 ~= '' then noteBelow(tree, l2, ends) end
    return { 'released' }
  end
  if held[1] == token then
    redis.call('DEL', lock)
    if l2 ~= '' then redis.call('ZREM', tree .. ':below', l2) end
    wake(tree, l2)
    return { 'released' }
  end
  local entry = entryOf(tree, id)
  if entry then
    strike(tree, entry)
    wake(tree, '')
  end
  if held[2] == token then return { 'released' } end
  return { held[1] and 'other' or 'absent' }
end
local function renew(tree, l2, token, n, ttl, mode)
  local lock = lockOf(tree, l2)
  local held = redis.call('HMGET', lock, 'token', 'n')
  if held[1] ~= token then return { held[1] and 'other' or 'absent' } end
  if n ~= '' and tonumber(n) < tonumber(held[2]) then return { 'superseded' } end
  local left = redis.call('PTTL', lock)
  if left < 0 then return { 'absent' } end
  local ends = ttl
  if mode == 'most' and left > ttl then ends = left end
  if n ~= '' then redis.call('HSET', lock, 'n', n) end
  redis.call('PEXPIREAT', lock, string.format('%.0f', nowMs + ends))
  if l2 ~= '' then noteBelow(tree, l2, nowMs + ends) end
  return { 'renewed', string.format('%.0f', ends) }
end
local function holderAt(tree, l2)
  local name = lockOf(tree, l2)
  local f = redis.call('HMGET', name, 'id', 'fence', 'by', 'meta', 'at')
  local left = redis.call('PTTL', name)
  if not f[1] or not f[2] or left < 0 then return nil end
  local heldMs = math.max(0, nowMs - (tonumber(f[5] or '') or nowMs))
  return { l2, f[1], f[2], f[3] or '', f[4] or '', string.format('%.0f', heldMs), tostring(left) }
end
local function inspect(tree, l2, limit)
  local holders, waiters, count = {}, {}, 0
  holders[1] = holderAt(tree, '')
  local below = l2 == '' and redis.call('ZRANGEBYSCORE', tree .. ':below', nowMs, '+inf', 'LIMIT', 0, limit) or { l2 }
  for _, each in ipairs(below) do
    local holder = #holders < limit and holderAt(tree, each)
    if holder then holders[#holders + 1] = holder end
  end
  for _, id in ipairs(redis.call('ZRANGE', tree .. ':line', 0, 999)) do
    local entry = entryOf(tree, id)
    if entry and (l2 == '' or entry.l2 == '' or entry.l2 == l2) then
      count = count + 1
      if #waiters < limit then
        local waited = math.max(0, nowMs - math.floor(tonumber(entry.arrival) / 1000))
        waiters[#waiters + 1] = { entry.l2, id, entry.by, string.format('%.0f', waited) }
      end
    end
  end
  local all = redis.call('ZCARD', tree .. ':line')
  if all > 1000 then count = all end
  return { 'report', tostring(count), holders, waiters }
end
local function field(info, name)
  if type(info) ~= 'string' then return '' end
  return string.match(info, name .. ':([^\r\n]*)') or ''
end
local function probe(tree)
  redis.call('EXISTS', tree, tree .. ':fence', tree .. ':queue')
  local memory = redis.pcall('INFO', 'memory')
  local published = redis.pcall('PUBLISH', channel, '')
  local missing = type(published) == 'table' and published.err or ''
  local replication, server = redis.pcall('INFO', 'replication'), redis.pcall('INFO', 'server')
  return { 'probe', field(memory, 'maxmemory_policy'), field(memory, 'maxmemory'), field(replication, 'role'),
    field(server, 'redis_version'), missing }
end
local at = 4
local function take()
  at = at + 1
  return ARGV[at]
end
local function number()
  return tonumber(take())
end
local operations = {
  acquire = function(tree)
    return acquire(tree, take(), take(), take(), number(), number(), take(), take(), number(), take())
  end,
  release = function(tree)
    return release(tree, take(), take(), take(), number(), number())
  end,
  renew = function(tree)
    return renew(tree, take(), take(), take(), number(), take())
  end,
  inspect = function(tree)
    return inspect(tree, take(), number())
  end,
  probe = function(tree)
    return probe(tree)
  end,
}
local takes = { acquire = 9, release = 5, renew = 5, inspect = 2, probe = 0 }
local function failure(problem)
  if type(problem) == 'table' then
    if problem.klock then return problem.klock end
    return { 'error', tostring(problem.err or 'unknown') }
  end
  return { 'error', tostring(problem) }
end
local results = { nowUs, '' }
while at < #ARGV do
  local name, tree = take(), KEYS[number()]
  local next = at + takes[name]
  local ok, result = pcall(operations[name], tree)
  at = next
  results[#results + 1] = ok and result or failure(result)
end
for to, ids in pairs(messages) do
  if to == channel then results[2] = ids else redis.pcall('PUBLISH', to, ids) end
end
return results
`;
