-- renew: moves the end of a lock that this token holds. Never makes one.
--
-- Words: n (number of this renewal, growing per grant from 1; 0 for a call by token), ttl (ms), mode ('most': the end
--   never comes nearer; 'exact': the end becomes now + ttl, also if that is nearer). Who: token.
-- Result: 'renewed <ms left>'; 'superseded': a later renewal was executed before, nothing changed;
--   'other', 'absent': this token does not hold; 'revoked': since an operator ended it.
-- Atomic: the comparisons and the new expiry are one step.
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
  -- First, since it passes when Redis has no memory left, and with it the SET: a full Redis costs nobody a lock.
  call('PEXPIREAT', name, nowMs + left)
  write(name, lock, nowMs + left)
  if l2 ~= '' then noteBelow(tree, l2, nowMs + left) end
  return 'renewed ' .. left
end
