-- acquire: grants a lock, or puts the request in line, or says no.
--
-- Words: ttl (ms), notAfter (ms of this store's clock), mode ('queue': stay in line; 'leave': be told no and leave it),
--   arrival (as answered before, 0 at first), span (fences to reserve). Who: token and id (request). Meta: JSON or nothing.
-- Result: '<fence>' for a new grant, 'granted <fence> <span> <ms left>' for the one this id already has, whose
--   end is not moved; {'granted', fence, '', '', 'repaired'} if the fence had to be started again;
--   'queued <arrival> <ms until it is worth asking again or -1>'; {'busy', label of a holder, its ms left or -1};
--   'expired': executed after notAfter, nothing changed; 'gone': the id was taken back or given back before.
-- Atomic: the test against every holder and every earlier waiter, the fence, the lock with its expiry, and leaving the
--   line are one step. An L1 conflicts with everything below it, both ways; different L2 are independent.
local function grant(tree, l2, who, meta, words)
  local ttl, span = words[1], words[5]
  local fence, repaired = mint(tree, span)
  -- What stands between who holds and the metadata is the same for most grants of a call.
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

-- Who holds something that conflicts: its label and when that may end (ms from now, -1 unknown); nil if nobody does.
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
  -- Those of one call mostly share their words.
  if words.isLate == nil then words.isLate = isLarger(nowText, words[2]) end
  if words.isLate then return 'expired' end
  local lock = lockOf(tree, l2)
  local queue, gone = tree .. ':queue', tree .. ':gone'
  -- Nearly always nothing is there, and one command tells.
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
