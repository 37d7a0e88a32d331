-- The klock script: runs the operations of one turn of one client, in order, in one step.
--
-- KEYS: one name per tree touched, all in one slot (see shared.lua).
-- ARGV from 5: for each operation `<name> <number of its tree in KEYS> <words>`, then its l2, then for acquire its meta.
--   The words are arguments without blanks in them, in one text: Redis and client libraries pay for each argument.
-- Result: {TIME in us, woken ids of this client's channel joined by commas, one result per operation}.
--   An operation that failed answers {'state', text} (what is stored contradicts itself), {'full', text} (a bound was
--   hit) or {'error', text} (Redis refused a command of it); the others are carried out all the same.
-- Atomic: the whole call.
local operations = { acquire = acquire, release = release, renew = renew, inspect = inspect, probe = probe }

local function failure(problem)
  if type(problem) == 'table' then
    if problem.klock then return problem.klock end
    return { 'error', tostring(problem.err or 'unknown') }
  end
  return { 'error', tostring(problem) }
end

local results, at, last = { nowUs, '' }, 5, #ARGV
while at < last do
  local name, tree, words = string.match(ARGV[at], '^(%a+) (%d+) ?(.*)$')
  local ok, result = pcall(operations[name], KEYS[tonumber(tree)], ARGV[at + 1], words, ARGV[at + 2])
  at = at + (name == 'acquire' and 3 or 2)
  results[#results + 1] = ok and result or failure(result)
end

for to, ids in pairs(messages) do
  if to == channel then results[2] = ids else redis.pcall('PUBLISH', to, ids) end
end
return results
