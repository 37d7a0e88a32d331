-- The klock script: runs the operations of one turn of one client, in order, in one step.
--
-- KEYS[1]: the tree of the first operation: it leads to the slot, in which those of all must be; what the client itself put
--   before it (a key prefix) stands before the others too. On a Cluster KEYS[2] is a key at which nothing ever stands: so a
--   node that has only part of a slot that moves refuses the call as a whole, with TRYAGAIN.
-- ARGV[5]: all operations in one text, since Redis and client libraries pay for each argument. Each is a line: its name,
--   the bytes of its four texts, and its own words, one blank between them; then the texts: its tree, its l2 ('' for the
--   L1 itself), who asks, and meta. Lengths, since no byte of UTF-8 is absent from every key.
-- Result: {text, list, ...}. The text's lines are TIME in us, woken ids of this client's channel joined by commas, and one
--   result per operation. A result made of words without blanks stands there; an empty line says that it is the next list.
--   An operation that failed answers {'state', text} (what is stored contradicts itself), {'full', text} (a bound was
--   hit) or {'error', text} (Redis refused a command of it); the others are carried out all the same.
-- Atomic: the whole call.
local operations = {
  acquire = acquire, release = release, revoke = revoke, renew = renew, inspect = inspect, probe = probe,
}
local tonumber, type, gmatch = tonumber, type, string.gmatch

-- What the first line of an operation says. Those of one turn mostly begin alike.
local known = {}
local function wordsOf(line)
  local words = known[line]
  if not words then
    words = {}
    local name, tree, l2, who, meta, rest = match(line, '^(%a+) (%d+) (%d+) (%d+) (%d+)(.*)$')
    words.run, words.tree, words.l2 = operations[name], tonumber(tree), tonumber(l2)
    words.who, words.meta = tonumber(who), tonumber(meta)
    for word in gmatch(rest, '%S+') do words[#words + 1] = word end
    known[line] = words
  end
  return words
end

local function failure(problem)
  if type(problem) == 'table' then
    if problem.klock then return problem.klock end
    return { 'error', tostring(problem.err or 'unknown') }
  end
  return { 'error', tostring(problem) }
end

local asked, at, size = ARGV[5], 1, #ARGV[5]
local before
local lines, lists, count = { nowUs, '' }, { '' }, 2

local function answer(result)
  count = count + 1
  if type(result) == 'table' then
    lists[#lists + 1] = result
    lines[count] = ''
  else
    lines[count] = result
  end
end

local function runRest()
  while at <= size do
    local from = at
    -- Nothing is left until this one is understood: what cannot be must not be tried for ever.
    at = size + 1
    local stop = find(asked, '\n', from, true)
    local words = wordsOf(sub(asked, from, stop - 1))
    local l2At = stop + 1 + words.tree
    local whoAt = l2At + words.l2
    local metaAt = whoAt + words.who
    local tree, l2, meta = sub(asked, stop + 1, l2At - 1), '', ''
    if whoAt > l2At then l2 = sub(asked, l2At, whoAt - 1) end
    at = metaAt + words.meta
    if at > metaAt then meta = sub(asked, metaAt, at - 1) end
    before = before or sub(KEYS[1], 1, #KEYS[1] - #tree)
    if before ~= '' then tree = before .. tree end
    answer(words.run(tree, l2, sub(asked, whoAt, metaAt - 1), meta, words))
  end
end

-- One that fails does not end the others: they go on behind it.
repeat
  local ok, problem = pcall(runRest)
  if not ok then answer(failure(problem)) end
until ok

for to, ids in pairs(messages) do
  if to == channel then lines[2] = ids else redis.pcall('PUBLISH', to, ids) end
end
lists[1] = table.concat(lines, '\n')
return lists
