-- The klock script: runs the operations of one turn of one client, in order, in one step.
--
-- KEYS: one name per tree touched, all in one slot (see shared.lua).
-- ARGV from 5: for each operation its name, the number of its tree in KEYS, and its arguments as its own header says.
-- Result: {TIME in us, woken ids of this client's channel joined by commas, one result per operation}.
--   An operation that failed answers {'state', text} (what is stored contradicts itself), {'full', text} (a bound was
--   hit) or {'error', text} (Redis refused a command of it); the others are carried out all the same.
-- Atomic: the whole call.
local at = 4

local function take()
  at = at + 1
  return ARGV[at]
end

local function number()
  return tonumber(take())
end

local operations = {
  acquire = function(tree)
    return acquire(tree, take(), take(), take(), number(), number(), take(), take(), number(), take())
  end,
  release = function(tree)
    return release(tree, take(), take(), take(), number(), number())
  end,
  renew = function(tree)
    return renew(tree, take(), take(), take(), number(), take())
  end,
  inspect = function(tree)
    return inspect(tree, take(), number())
  end,
  probe = function(tree)
    return probe(tree)
  end,
}

-- Arguments an operation takes after its tree: the next one starts there whatever became of this one.
local takes = { acquire = 9, release = 5, renew = 5, inspect = 2, probe = 0 }

local function failure(problem)
  if type(problem) == 'table' then
    if problem.klock then return problem.klock end
    return { 'error', tostring(problem.err or 'unknown') }
  end
  return { 'error', tostring(problem) }
end

local results = { nowUs, '' }
while at < #ARGV do
  local name, tree = take(), KEYS[number()]
  local next = at + takes[name]
  local ok, result = pcall(operations[name], tree)
  at = next
  results[#results + 1] = ok and result or failure(result)
end

for to, ids in pairs(messages) do
  if to == channel then results[2] = ids else redis.pcall('PUBLISH', to, ids) end
end
return results
