-- acquire: grants a lock, or puts the request in line, or says no.
--
-- Lines: ttl (ms), notAfter (ms of this store's clock), mode ('queue': stay in line; 'leave': be told no and leave it),
--   arrival (as answered before, 0 at first), span (fences to reserve); token, id (request); meta (JSON or nothing); l2.
-- Result: 'granted <fence>' for a new grant, {'granted', fence, span, ms left} for the one this id already has, whose
--   end is not moved; {'granted', fence, '', '', 'repaired'} if the fence had to be started again;
--   {'queued', arrival, ms until it is worth asking again or -1}; {'busy', label of a holder, its ms left or -1};
--   'expired': executed after notAfter, nothing changed; 'gone': the id was taken back or given back before.
-- Atomic: the test against every holder and every earlier waiter, the fence, the lock with its expiry, and leaving the
--   line are one step. An L1 conflicts with everything below it, both ways; different L2 are independent.
local function grant(tree, l2, who, meta, terms)
  local fence, repaired = mint(tree, terms.span)
  call('SET', lockOf(tree, l2), who .. '\2550\255' .. fence .. '\255' .. terms.span .. '\255' .. nowText .. '\255' ..
    label .. '\255' .. meta, 'PXAT', endAfter(terms.ttl))
  if l2 ~= '' then
    call('ZREMRANGEBYSCORE', tree .. ':below', '-inf', '(' .. nowText)
    noteBelow(tree, l2, nowMs + tonumber(terms.ttl))
  end
  if repaired then return { 'granted', fence, '', '', 'repaired' } end
  return 'granted ' .. fence
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

-- What an acquire asks for, by its first line: those of one turn mostly ask for the same.
local asked = {}
local function termsOf(line)
  local terms = asked[line]
  if not terms then
    local ttl, notAfter, mode, arrival, span = match(line, '^(%d+) (%d+) (%a+) (%d+) (%d+)$')
    terms = { ttl = ttl, isLate = isLarger(nowText, notAfter), mode = mode, arrival = arrival, span = span }
    asked[line] = terms
  end
  return terms
end

local function acquire(tree, text)
  local line, who, rest = linesOf(text)
  local terms = termsOf(line)
  if terms.isLate then return 'expired' end
  local meta, l2 = '', ''
  if rest ~= '\n' then
    meta, l2 = match(rest, '^([^\n]*)\n(.*)$')
  end
  local lock = lockOf(tree, l2)
  local queue, gone = tree .. ':queue', tree .. ':gone'
  -- Nearly always nothing is there, and one command tells.
  local inTheWay = l2 == '' and call('EXISTS', lock, queue, gone, tree .. ':below')
    or call('EXISTS', lock, queue, gone, tree)
  if inTheWay == 0 then return grant(tree, l2, who, meta, terms) end
  local _, id = partsOf(who)
  local arrival = terms.arrival
  local goneUntil = call('ZSCORE', gone, id)
  if goneUntil and tonumber(goneUntil) > nowMs then return 'gone' end
  local own = read(lock)
  if own and own.id == id then return { 'granted', own.fence, own.span, tostring(own.left) } end
  local struck = strikeDead(tree)
  local entry = entryOf(tree, id)
  if entry then arrival = entry.arrival end
  local holder, left = conflict(tree, l2, own)
  local overtaking = isOvertaking(tree, l2, id, arrival)
  local result
  if not holder and not overtaking then
    if entry then strike(tree, entry) end
    result = grant(tree, l2, who, meta, terms)
  elseif terms.mode == 'queue' then
    if entry then heartbeat(tree, id) else arrival = stand(tree, l2, id, arrival) end
    result = { 'queued', arrival, (not overtaking and left) and tostring(left) or '-1' }
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
