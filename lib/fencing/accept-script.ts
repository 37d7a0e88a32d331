import { redisScript } from '../redis-client/index.js';

/**
 * Decides one write and remembers its fence. Everything a tree needs is one hash, so it is one step in one slot.
 *
 * KEYS[1]  hash of the L1: `store`, `l1`, `any`, `folded` (largest mark of an L2 without a field of its own), `2:<l2>`
 * ARGV     fence, store, `2:<l2>` or '' for a write under an L1 grant, milliseconds to keep the hash (0: for ever),
 *          how many L2 fields to keep
 * Result   {'accepted'}, {'stale', largest conflicting fence}, {'foreign', store}
 *
 * Fences have 19 digits each, so that texts compare as the numbers do: a Lua number is exact to 2^53 only.
 */
export const ACCEPT_SCRIPT = redisScript(`
local NEVER = '0000000000000000000'
local fence, store, leaf = ARGV[1], ARGV[2], ARGV[3]
local keep_ms, keep_leaves = tonumber(ARGV[4]), tonumber(ARGV[5])

local found = redis.call('HMGET', KEYS[1], 'store', 'l1', 'any', 'folded', leaf)
local l1, any, folded = found[2] or NEVER, found[3] or NEVER, found[4] or NEVER
if found[1] and found[1] ~= store then return {'foreign', found[1]} end

local seen = any
if leaf ~= '' then
  seen = found[5] or folded
  if l1 > seen then seen = l1 end
end
if fence < seen then return {'stale', seen} end

-- The mark of an L2 is folded with half of the others, so that one write in many looks at all of them.
local function fold()
  local all, leaves = redis.call('HGETALL', KEYS[1]), {}
  for i = 1, #all, 2 do
    if string.sub(all[i], 1, 2) == '2:' then leaves[#leaves + 1] = {all[i], all[i + 1]} end
  end
  if #leaves <= keep_leaves then return end
  table.sort(leaves, function(a, b)
    if a[2] == b[2] then return a[1] < b[1] end
    return a[2] < b[2]
  end)
  local names = {}
  for i = 1, #leaves - math.floor(keep_leaves / 2) do
    names[i] = leaves[i][1]
    if leaves[i][2] > folded then folded = leaves[i][2] end
  end
  redis.call('HSET', KEYS[1], 'folded', folded)
  redis.call('HDEL', KEYS[1], unpack(names))
end

if leaf == '' then
  redis.call('HSET', KEYS[1], 'store', store, 'l1', fence, 'any', fence)
else
  if fence > any then any = fence end
  redis.call('HSET', KEYS[1], 'store', store, 'any', any, leaf, fence)
  if not found[5] and redis.call('HLEN', KEYS[1]) > keep_leaves then fold() end
end
if keep_ms > 0 then redis.call('PEXPIRE', KEYS[1], keep_ms) else redis.call('PERSIST', KEYS[1]) end
return {'accepted'}
`);
