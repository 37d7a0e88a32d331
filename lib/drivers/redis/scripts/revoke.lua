-- revoke: ends a lock whoever holds it, kept ones too.
--
-- Words: fence, one of those that the lock's grant covers.
-- Result: 'revoked'; 'other': another grant holds; 'absent': nobody does.
-- Atomic: the comparison of the fence, the delete, what the holder's next renewal will find, the tombstone of its request
--   and the choice of who is woken are one step.

-- No copy of a request is executed later than this after it was sent (ms).
local BURIED = 60000
-- What a holder is told by its renewals: as long as its lock could have lasted, and for the clocks of both sides.
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
