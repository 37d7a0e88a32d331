-- probe: whether the store can be trusted with locks, found out by running a real script where locks will live.
--
-- No words; its tree is a name in the slot to be probed. Writes nothing but one message to the client's own channel.
-- Result: {'probe', maxmemory policy, maxmemory, role, version, what could not be done}; a field that could not be read
--   is ''. The last one names a missing right, such as that to publish.
local function field(info, name)
  if type(info) ~= 'string' then return '' end
  return match(info, name .. ':([^\r\n]*)') or ''
end

local function probe(tree)
  call('EXISTS', tree, tree .. ':fence', tree .. ':queue')
  local memory = redis.pcall('INFO', 'memory')
  local published = redis.pcall('PUBLISH', channel, '')
  local missing = type(published) == 'table' and published.err or ''
  local replication, server = redis.pcall('INFO', 'replication'), redis.pcall('INFO', 'server')
  return { 'probe', field(memory, 'maxmemory_policy'), field(memory, 'maxmemory'), field(replication, 'role'),
    field(server, 'redis_version'), missing }
end
