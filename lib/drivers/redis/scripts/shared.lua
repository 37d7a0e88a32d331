-- Shared part of the klock script: time, names of keys, and what stands in a lock.
--
-- One tree is an L1 with every L2 below it. Its name, `<prefix>{<l1>}`, is also the L1's own lock; every other key of the
-- tree is that name and a suffix, so all of them live in the slot of the hash tag:
--   <tree>            string  the lock [l1]
--   <tree>/<l2>       string  the lock [l1, l2]
--   <tree>:fence      string  last fence given out below the tree, decimal
--   <tree>:below      zset    l2 of every lock held below, score = when it ends (ms)
--   <tree>:queue      zset    waiters, all scores 0: `1<arrival><id>` for the L1, `2<l2>\255<arrival><id>` for an L2
--   <tree>:line       zset    request id of each waiter, score = arrival (us)
--   <tree>:live       zset    request id of each waiter, score = until when it counts as alive (ms)
--   <tree>:waiting    hash    request id of each waiter: arrival, l2, channel, label, separated by \255
--   <tree>:gone       zset    request ids that may never be granted any more, score = until when that matters (ms)
--   <tree>:revoked    zset    tokens of locks that an operator ended, score = until when their holders may ask (ms)
-- The byte \255 is in no UTF-8 text, so it ends whatever stands before it.
--
-- ARGV[1] largest fence or TIME the client has met on this store, in decimal
-- ARGV[2] channel of the client, ARGV[3] its label, ARGV[4] 'required' or 'best-effort' (fences)
-- ARGV[5] the operations: see run.lua
--
-- A lock is one string, so that it is written together with its expiry by one command: who holds it (token, blank, id of
-- the request), number of the last renewal, fence, span, ms of the grant, label, metadata (JSON), separated by \255. While
-- it is kept without a holder its token is that of the last one with `kept:` before it, and its id is empty.
--
-- Most of the time of a call goes into Lua itself, not into commands: what every acquire and release passes through
-- captures little by patterns and prints no number, since Redis prints one for each that it is given.
local seen, channel, label, fencing = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local call, match, find, sub, byte = redis.call, string.match, string.find, string.sub, string.byte

-- How long a waiter counts as alive after it asked, how long after it was woken, and what keeps a tree's waiting
-- state from outliving a crash of everybody, in ms.
local ALIVE, OFFERED, QUEUE_TTL = 3000, 1500, 60000
local MAX_WAITERS = 20000

local time = call('TIME')
-- Microseconds as text: a Lua number would be printed rounded.
local nowUs = time[1] .. sub('00000' .. time[2], -6)
local nowText = sub(nowUs, 1, -4)
local nowMs = tonumber(nowText)

-- When what lasts `ms` (text) from now on ends, as text. The locks of one call mostly have one length.
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

-- Refuses one operation; the others of the call go on.
local function refuse(kind, text)
  error({ klock = { kind, text } })
end

-- Token and id of who asks.
local function partsOf(who)
  return match(who, '^(%S+) (%S+)$')
end

-- Whether a lock's text begins with this token and a blank.
local function isOf(text, token)
  return find(text, token, 1, true) == 1 and byte(text, #token + 1) == 32
end

-- Whether a lock's text begins with token and id of who asks. Makes no text, unlike a comparison of a part.
local function isHeldBy(text, who)
  return find(text, who, 1, true) == 1 and byte(text, #who + 1) == 255
end

-- The parts of a lock's text; nil for what is no lock of ours.
local function parts(text)
  local token, id, n, fence, span, since, by, meta =
    match(text, '^([^ \255]+) ([^ \255]*)\255(%d+)\255(%d+)\255(%d+)\255(%d+)\255([^\255]*)\255(.*)$')
  if not token then return nil end
  return { token = token, n = n, fence = fence, span = span, since = since, id = id, by = by, meta = meta }
end

-- Milliseconds go to Redis and into text as Lua numbers: 13 digits are printed whole, unlike microseconds and fences.
local function write(name, lock, ends)
  call('SET', name, lock.token .. ' ' .. lock.id .. '\255' .. lock.n .. '\255' .. lock.fence .. '\255' ..
    lock.span .. '\255' .. lock.since .. '\255' .. lock.by .. '\255' .. lock.meta, 'PXAT', ends)
end

-- The lock as it stands and its ms left, nil if it is free. What is no lock of ours, or would never end, is nobody's to
-- take or to give back.
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

-- Keeps the index of locks below a tree alive as long as its last entry.
local function noteBelow(tree, l2, ends)
  local below = tree .. ':below'
  call('ZADD', below, ends, l2)
  if call('PTTL', below) < ends - nowMs then call('PEXPIREAT', below, ends) end
end

-- When the last lock below the tree ends (ms), nil if there is none. One whose key went away early (deleted by hand,
-- evicted) is struck off.
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
