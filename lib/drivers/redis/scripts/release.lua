-- release: gives a lock back, or takes a request back, whatever has become of it.
--
-- Arguments: tree, l2, id (request), token, keepMs (0: free it now; else keep it that long without a holder),
--   goneUntil (ms of this store's clock: until then the id may never be granted; '0': no copy of it can be under way).
-- Result: {'released'}: this token held, or had given back a lock that is still kept; {'other'}: somebody else holds;
--   {'absent'}: nobody does. In the last two cases a waiter of this id has left the line.
-- Atomic: the comparison of the token, the delete, the tombstone and the choice of who is woken are one step.
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
