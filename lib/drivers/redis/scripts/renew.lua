-- renew: moves the end of a lock that this token holds. Never makes one.
--
-- Arguments: tree, l2, token, n (number of this renewal, growing per grant; '' for a call by token), ttl (ms),
--   mode ('most': the end never comes nearer; 'exact': the end becomes now + ttl, also if that is nearer).
-- Result: {'renewed', ms left}; {'superseded'}: a later renewal was executed before, nothing changed;
--   {'other'}, {'absent'}: this token does not hold.
-- Atomic: the comparisons and the new expiry are one step.
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
