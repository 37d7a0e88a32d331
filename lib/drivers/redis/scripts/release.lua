-- release: gives a lock back, or takes a request back, whatever has become of it.
--
-- Arguments: tree, l2, and in words: keepMs (0: free it now; else keep it that long without a holder), goneUntil (ms of
--   this store's clock: until then the id may never be granted; 0: no copy of it can be under way), id (request), token.
-- Result: {'released'}: this token held, or had given back a lock that is still kept; {'other'}: somebody else holds;
--   {'absent'}: nobody does. In the last two cases a waiter of this id has left the line.
-- Atomic: the comparison of the token, the delete, the tombstone and the choice of who is woken are one step.
local function release(tree, l2, words)
  local keepMs, goneUntil, id, token = string.match(words, '^(%d+) (%d+) (%S+) (%S+)$')
  keepMs, goneUntil = tonumber(keepMs), tonumber(goneUntil)
  local lock = lockOf(tree, l2)
  if goneUntil > nowMs then
    local gone = tree .. ':gone'
    redis.call('ZREMRANGEBYSCORE', gone, '-inf', nowMs)
    redis.call('ZADD', gone, goneUntil, id)
    if redis.call('PTTL', gone) < goneUntil - nowMs then redis.call('PEXPIREAT', gone, goneUntil) end
  end
  local text = redis.call('GET', lock)
  if text and string.sub(text, 1, #token + 1) == token .. '\255' then
    if keepMs > 0 then
      local held = parts(text)
      held.token, held.id = 'kept:' .. token, ''
      -- As for a renewal: let through without memory.
      redis.call('PEXPIREAT', lock, nowMs + keepMs)
      write(lock, held, nowMs + keepMs)
      if l2 ~= '' then noteBelow(tree, l2, nowMs + keepMs) end
      return { 'released' }
    end
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
  if text and string.sub(text, 1, #token + 6) == 'kept:' .. token .. '\255' then return { 'released' } end
  return { text and 'other' or 'absent' }
end
