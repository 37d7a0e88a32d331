-- The klock script: runs the operations of one turn of one client, in order, in one step.
--
-- KEYS: the tree of each operation, all in one slot (see shared.lua); on a Cluster one more, at which nothing ever stands:
--   so a node that has only part of a slot that moves refuses the call as a whole, with TRYAGAIN.
-- ARGV from 5: for each operation one text, since Redis and client libraries pay for each argument: its name in seven
--   characters, a blank, and lines: its words, which hold no blank and have one between them, and its l2 ('' for the L1
--   itself), the last, in which line feeds may be. A word of acquire, its meta, is a line of its own.
-- Result: {TIME in us, woken ids of this client's channel joined by commas, one result per operation}.
--   A result is a list; one of a single word, or made of words without blanks, is a text instead.
--   An operation that failed answers {'state', text} (what is stored contradicts itself), {'full', text} (a bound was
--   hit) or {'error', text} (Redis refused a command of it); the others are carried out all the same.
-- Atomic: the whole call.
local operations = { acquire = acquire, release = release, ['renew  '] = renew, inspect = inspect, ['probe  '] = probe }

local function failure(problem)
  if type(problem) == 'table' then
    if problem.klock then return problem.klock end
    return { 'error', tostring(problem.err or 'unknown') }
  end
  return { 'error', tostring(problem) }
end

local results = { nowUs, '' }
for at = 5, #ARGV do
  local text = ARGV[at]
  local ok, result = pcall(operations[sub(text, 1, 7)], KEYS[at - 4], text)
  results[at - 2] = ok and result or failure(result)
end

for to, ids in pairs(messages) do
  if to == channel then results[2] = ids else redis.pcall('PUBLISH', to, ids) end
end
return results
