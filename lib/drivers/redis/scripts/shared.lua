-- Shared part of the klock script: time, names of keys, and what stands in a lock.
--
-- One tree is an L1 with every L2 below it. KEYS names one key per tree, `<prefix>{<l1>}`, which is also the L1's own
-- lock; every other key of the tree is that name and a suffix, so all of them live in the slot of the hash tag:
--   <tree>            hash    the lock [l1]
--   <tree>/<l2>       hash    the lock [l1, l2]
--   <tree>:fence      string  last fence given out below the tree, decimal
--   <tree>:below      zset    l2 of every lock held below, score = when it ends (ms)
--   <tree>:queue      zset    waiters, all scores 0: `1<arrival><id>` for the L1, `2<l2>\255<arrival><id>` for an L2
--   <tree>:line       zset    request id of each waiter, score = arrival (us)
--   <tree>:live       zset    request id of each waiter, score = until when it counts as alive (ms)
--   <tree>:waiting    hash    request id of each waiter: arrival, l2, channel, label, separated by \255
--   <tree>:gone       zset    request ids that may never be granted any more, score = until when that matters (ms)
-- The byte \255 is in no UTF-8 text, so it ends whatever stands before it.
--
-- ARGV[1] largest fence or TIME the client has met on this store, in decimal
-- ARGV[2] channel of the client, ARGV[3] its label, ARGV[4] 'required' or 'best-effort' (fences)
-- ARGV[5...] the operations: see run.lua
--
-- A lock is a hash: id (request), token, fence, span, at (ms of the grant), by (label), meta (JSON), n (number of the
-- last renewal), and `kept` (token of the holder that gave it back) while it is kept without a holder.
local seen, channel, label, fencing = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

-- How long a waiter counts as alive after it asked, how long after it was woken, and what keeps a tree's waiting
-- state from outliving a crash of everybody, in ms.
local ALIVE, OFFERED, QUEUE_TTL = 3000, 1500, 60000
local MAX_WAITERS = 20000

local time = redis.call('TIME')
-- Microseconds as text: a Lua number would be printed rounded.
local nowUs = time[1] .. string.sub('00000' .. time[2], -6)
local nowMs = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local function lockOf(tree, l2)
  if l2 == '' then return tree end
  return tree .. '/' .. l2
end

-- Refuses one operation; the others of the call go on.
local function refuse(kind, text)
  error({ klock = { kind, text } })
end

-- The lock as it stands, nil if it is free. What is no lock of ours, or would never end, is nobody's to take.
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

-- Keeps the index of locks below a tree alive as long as its last entry.
local function noteBelow(tree, l2, ends)
  local below = tree .. ':below'
  redis.call('ZADD', below, string.format('%.0f', ends), l2)
  if redis.call('PTTL', below) < ends - nowMs then
    redis.call('PEXPIREAT', below, string.format('%.0f', ends))
  end
end

-- When the last lock below the tree ends (ms), nil if there is none. One whose key went away early (deleted by hand,
-- evicted) is struck off.
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
