// Written by `npm run generate` from lib/drivers/redis/scripts/*.lua: change those.

/** SHA-1 of {@link SCRIPT_TEXT}, as EVALSHA wants it. */
export const SCRIPT_SHA1 = 'abc89e958680cd15373cd329afcaf5ef870bdfc0';

/** The klock script. */
export const SCRIPT_TEXT = String.raw`local seen, channel, label, fencing = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local call, match, find, sub, byte = redis.call, string.match, string.find, string.sub, string.byte
local ALIVE, OFFERED, QUEUE_TTL = 3000, 1500, 60000
local MAX_WAITERS = 20000
local time = call('TIME')
local nowUs = time[1] .. sub('00000' .. time[2], -6)
local nowText = sub(nowUs, 1, -4)
local nowMs = tonumber(nowText)
local ends = {}
local function endAfter(ms)
  local text = ends[ms]
  if not text then
    text = string.format('%.0f', nowMs + tonumber(ms))
    ends[ms] = text
  end
  return text
end
local function lockOf(tree, l2)
  if l2 == '' then return tree end
  return tree .. '/' .. l2
end
local function refuse(kind, text)
  error({ klock = { kind, text } })
end
local function partsOf(who)
  return match(who, '^(%S+) (%S+)$')
end
local function isOf(text, token)
  return find(text, token, 1, true) == 1 and byte(text, #token + 1) == 32
end
local function isHeldBy(text, who)
  return find(text, who, 1, true) == 1 and byte(text, #who + 1) == 255
end
local function parts(text)
  local token, id, n, fence, span, since, by, meta =
    match(text, '^([^ \255]+) ([^ \255]*)\255(%d+)\255(%d+)\255(%d+)\255(%d+)\255([^\255]*)\255(.*)$')
  if not token then return nil end
  return { token = token, n = n, fence = fence, span = span, since = since, id = id, by = by, meta = meta }
end
local function write(name, lock, ends)
  call('SET', name, lock.token .. ' ' .. lock.id .. '\255' .. lock.n .. '\255' .. lock.fence .. '\255' ..
    lock.span .. '\255' .. lock.since .. '\255' .. lock.by .. '\255' .. lock.meta, 'PXAT', ends)
end
local function read(name)
  local text = call('GET', name)
  if not text then return nil end
  local lock = parts(text)
  if not lock then refuse('state', 'the key ' .. name .. ' holds something that is not a lock') end
  lock.left = call('PTTL', name)
  if lock.left == -1 then refuse('state', 'the lock at ' .. name .. ' has no expiry') end
  if lock.left < 0 then return nil end
  return lock
end
local function noteBelow(tree, l2, ends)
  local below = tree .. ':below'
  call('ZADD', below, ends, l2)
  if call('PTTL', below) < ends - nowMs then call('PEXPIREAT', below, ends) end
end
local function heldBelow(tree)
  local below = tree .. ':below'
  call('ZREMRANGEBYSCORE', below, '-inf', '(' .. nowMs)
  for _ = 1, 64 do
    local first = call('ZRANGE', below, 0, 0)[1]
    if not first then return nil end
    if call('EXISTS', tree .. '/' .. first) == 1 then
      return tonumber(call('ZRANGE', below, -1, -1, 'WITHSCORES')[2])
    end
    call('ZREM', below, first)
  end
  return nowMs
end
local MAX_FENCE = '9223372036854775807'
local function isLarger(a, b)
  if #a ~= #b then return #a > #b end
  return a > b
end
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
local function arrivalText(n)
  return string.format('%016.0f', n)
end
local function memberOf(l2, arrival, id)
  if l2 == '' then return '1' .. arrival .. id end
  return '2' .. l2 .. '\255' .. arrival .. id
end
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
local function isOvertaking(tree, l2, id, arrival)
  local function stands(earlier, who)
    return earlier and who ~= id and (arrival == '0' or earlier < arrival)
  end
  if l2 ~= '' then return stands(headOf(tree, '')) or stands(headOf(tree, l2)) end
  local first = call('ZRANGE', tree .. ':line', 0, 0, 'WITHSCORES')
  return first[1] and stands(arrivalText(tonumber(first[2])), first[1])
end
local messages = {}
local function offer(tree, id)
  local entry = entryOf(tree, id)
  if not entry then return end
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
local function wake(tree, l2)
  if call('EXISTS', tree .. ':queue') == 0 then return end
  if strikeDead(tree) > 0 or l2 == '' then wakeTree(tree) else wakeKey(tree, l2) end
end
local function grant(tree, l2, who, meta, words)
  local ttl, span = words[1], words[5]
  local fence, repaired = mint(tree, span)
  local middle = fence == nowUs and words.middle
  if not middle then
    middle = '\2550\255' .. fence .. '\255' .. span .. '\255' .. nowText .. '\255' .. label .. '\255'
    if fence == nowUs then words.middle = middle end
  end
  call('SET', lockOf(tree, l2), who .. middle .. meta, 'PXAT', endAfter(ttl))
  if l2 ~= '' then
    call('ZREMRANGEBYSCORE', tree .. ':below', '-inf', '(' .. nowText)
    noteBelow(tree, l2, nowMs + tonumber(ttl))
  end
  if repaired then return { 'granted', fence, '', '', 'repaired' } end
  return fence
end
local function conflict(tree, l2, own)
  if own then return own.by, own.left end
  if l2 ~= '' then
    local above = read(tree)
    if above then return above.by, above.left end
    return nil
  end
  local ends = heldBelow(tree)
  if ends then return '', ends - nowMs end
  return nil
end
local function acquire(tree, l2, who, meta, words)
  if words.isLate == nil then words.isLate = isLarger(nowText, words[2]) end
  if words.isLate then return 'expired' end
  local lock = lockOf(tree, l2)
  local queue, gone = tree .. ':queue', tree .. ':gone'
  local inTheWay = l2 == '' and call('EXISTS', lock, queue, gone, tree .. ':below')
    or call('EXISTS', lock, queue, gone, tree)
  if inTheWay == 0 then return grant(tree, l2, who, meta, words) end
  local _, id = partsOf(who)
  local arrival = words[4]
  local goneUntil = call('ZSCORE', gone, id)
  if goneUntil and tonumber(goneUntil) > nowMs then return 'gone' end
  local own = read(lock)
  if own and own.id == id then return 'granted ' .. own.fence .. ' ' .. own.span .. ' ' .. own.left end
  local struck = strikeDead(tree)
  local entry = entryOf(tree, id)
  if entry then arrival = entry.arrival end
  local holder, left = conflict(tree, l2, own)
  local overtaking = isOvertaking(tree, l2, id, arrival)
  local result
  if not holder and not overtaking then
    if entry then strike(tree, entry) end
    result = grant(tree, l2, who, meta, words)
  elseif words[3] == 'queue' then
    if entry then heartbeat(tree, id) else arrival = stand(tree, l2, id, arrival) end
    result = 'queued ' .. arrival .. ' ' .. ((not overtaking and left) or -1)
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
local function bury(tree, id, untilMs)
  if untilMs <= nowMs then return end
  local gone = tree .. ':gone'
  call('ZREMRANGEBYSCORE', gone, '-inf', nowMs)
  call('ZADD', gone, untilMs, id)
  if call('PTTL', gone) < untilMs - nowMs then call('PEXPIREAT', gone, untilMs) end
end
local function keep(tree, l2, text, keepMs)
  local held = parts(text)
  held.token, held.id = 'kept:' .. held.token, ''
  call('PEXPIREAT', lockOf(tree, l2), nowMs + keepMs)
  write(lockOf(tree, l2), held, nowMs + keepMs)
  if l2 ~= '' then noteBelow(tree, l2, nowMs + keepMs) end
end
local function free(tree, l2, lock)
  call('DEL', lock)
  if l2 ~= '' then call('ZREM', tree .. ':below', l2) end
  wake(tree, l2)
end
local function release(tree, l2, who, _, words)
  local keepMs, goneUntil = words[1], words[2]
  local lock = lockOf(tree, l2)
  local text = call('GET', lock)
  if keepMs == '0' and goneUntil == '0' and text and isHeldBy(text, who) then
    free(tree, l2, lock)
    return 'released'
  end
  local token, id = partsOf(who)
  if goneUntil ~= '0' then bury(tree, id, tonumber(goneUntil)) end
  if text and isOf(text, token) then
    if keepMs == '0' then free(tree, l2, lock) else keep(tree, l2, text, tonumber(keepMs)) end
    return 'released'
  end
  local entry = entryOf(tree, id)
  if entry then
    strike(tree, entry)
    wake(tree, '')
  end
  if text and isOf(text, 'kept:' .. token) then return 'released' end
  return text and 'other' or 'absent'
end
local BURIED = 60000
local TOLD = 5000
local function noteRevoked(tree, token, untilMs)
  local revoked = tree .. ':revoked'
  call('ZREMRANGEBYSCORE', revoked, '-inf', nowMs)
  call('ZADD', revoked, untilMs, token)
  if call('PTTL', revoked) < untilMs - nowMs then call('PEXPIREAT', revoked, untilMs) end
end
local function revoke(tree, l2, _, _, words)
  local name, fence = lockOf(tree, l2), words[1]
  local lock = read(name)
  if not lock then return 'absent' end
  local last = plus(lock.fence, tonumber(lock.span) - 1)
  if isLarger(lock.fence, fence) or isLarger(fence, last) then return 'other' end
  if lock.id ~= '' then
    noteRevoked(tree, lock.token, nowMs + lock.left + TOLD)
    bury(tree, lock.id, nowMs + BURIED)
  end
  free(tree, l2, name)
  return 'revoked'
end
local function renew(tree, l2, token, _, words)
  local n, ttl, mode = words[1], tonumber(words[2]), words[3]
  local name = lockOf(tree, l2)
  local lock = read(name)
  if not lock or lock.token ~= token then
    if call('ZSCORE', tree .. ':revoked', token) then return 'revoked' end
    return lock and 'other' or 'absent'
  end
  if n ~= '0' and tonumber(n) < tonumber(lock.n) then return 'superseded' end
  local left = ttl
  if mode == 'most' and lock.left > ttl then left = lock.left end
  if n ~= '0' then lock.n = n end
  call('PEXPIREAT', name, nowMs + left)
  write(name, lock, nowMs + left)
  if l2 ~= '' then noteBelow(tree, l2, nowMs + left) end
  return 'renewed ' .. left
end
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
local function field(info, name)
  if type(info) ~= 'string' then return '' end
  return match(info, name .. ':([^\r\n]*)') or ''
end
local function probe(tree)
  call('EXISTS', tree, tree .. ':fence', tree .. ':queue')
  local memory = redis.pcall('INFO', 'memory')
  local published = redis.pcall('PUBLISH', channel, '')
  local missing = type(published) == 'table' and published.err or ''
  local replication, server = redis.pcall('INFO', 'replication'), redis.pcall('INFO', 'server')
  return { 'probe', field(memory, 'maxmemory_policy'), field(memory, 'maxmemory'), field(replication, 'role'),
    field(server, 'redis_version'), missing }
end
local operations = {
  acquire = acquire, release = release, revoke = revoke, renew = renew, inspect = inspect, probe = probe,
}
local tonumber, type, gmatch = tonumber, type, string.gmatch
local known = {}
local function wordsOf(line)
  local words = known[line]
  if not words then
    words = {}
    local name, tree, l2, who, meta, rest = match(line, '^(%a+) (%d+) (%d+) (%d+) (%d+)(.*)$')
    words.run, words.tree, words.l2 = operations[name], tonumber(tree), tonumber(l2)
    words.who, words.meta = tonumber(who), tonumber(meta)
    for word in gmatch(rest, '%S+') do words[#words + 1] = word end
    known[line] = words
  end
  return words
end
local function failure(problem)
  if type(problem) == 'table' then
    if problem.klock then return problem.klock end
    return { 'error', tostring(problem.err or 'unknown') }
  end
  return { 'error', tostring(problem) }
end
local asked, at, size = ARGV[5], 1, #ARGV[5]
local before
local lines, lists, count = { nowUs, '' }, { '' }, 2
local function answer(result)
  count = count + 1
  if type(result) == 'table' then
    lists[#lists + 1] = result
    lines[count] = ''
  else
    lines[count] = result
  end
end
local function runRest()
  while at <= size do
    local from = at
    at = size + 1
    local stop = find(asked, '\n', from, true)
    local words = wordsOf(sub(asked, from, stop - 1))
    local l2At = stop + 1 + words.tree
    local whoAt = l2At + words.l2
    local metaAt = whoAt + words.who
    local tree, l2, meta = sub(asked, stop + 1, l2At - 1), '', ''
    if whoAt > l2At then l2 = sub(asked, l2At, whoAt - 1) end
    at = metaAt + words.meta
    if at > metaAt then meta = sub(asked, metaAt, at - 1) end
    before = before or sub(KEYS[1], 1, #KEYS[1] - #tree)
    if before ~= '' then tree = before .. tree end
    answer(words.run(tree, l2, sub(asked, whoAt, metaAt - 1), meta, words))
  end
end
repeat
  local ok, problem = pcall(runRest)
  if not ok then answer(failure(problem)) end
until ok
for to, ids in pairs(messages) do
  if to == channel then lines[2] = ids else redis.pcall('PUBLISH', to, ids) end
end
lists[1] = table.concat(lines, '\n')
return lists
`;
