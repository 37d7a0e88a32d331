-- release: gives a lock back, or takes a request back, whatever has become of it.
--
-- Words: keepMs (0: free it now; else keep it that long without a holder), goneUntil (ms of this store's clock: until
--   then the id may never be granted; 0: no copy of it can be under way). Who: token and id (request; ? where it is not known).
-- Result: 'released': this token held, or had given back a lock that is still kept; 'other': somebody else holds;
--   'absent': nobody does. In the last two cases a waiter of this id has left the line.
-- Atomic: the comparison of the token, the delete, the tombstone and the choice of who is woken are one step.

-- Until then (ms) no copy of this request may be granted.
local function bury(tree, id, untilMs)
  if untilMs <= nowMs then return end
  local gone = tree .. ':gone'
  call('ZREMRANGEBYSCORE', gone, '-inf', nowMs)
  call('ZADD', gone, untilMs, id)
  if call('PTTL', gone) < untilMs - nowMs then call('PEXPIREAT', gone, untilMs) end
end

-- The lock stays for a while, without a holder.
local function keep(tree, l2, text, keepMs)
  local held = parts(text)
  held.token, held.id = 'kept:' .. held.token, ''
  -- As for a renewal: let through without memory.
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
