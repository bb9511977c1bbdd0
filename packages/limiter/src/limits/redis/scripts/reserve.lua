-- reserve.lua: LIMIT-8 to LIMIT-11 for one request or a batch of them, in order.
-- KEYS     the limits, one lease a request, the index of all limits
-- ARGV     now or '', how long an id is remembered (ms), how many of them at most, the factor of complete.lua, the number of
--          limits, the version of each as the caller knows it; then for requests in a row that ask for the same: how many, the number of
--          requirements, and the number of the limit and the amount of each
-- returns  now, then four numbers for each request that was not simply allowed just now: which, code, value,
--          limit; or -1 and the limits that the caller knows otherwise, and nothing was done
-- A lease is a string: packed {'held', reserved_at, ends_at, forget_at, {limit, amount, end, …}}, or
-- {'completed' | 'denied', forget_at, reserved_at}.
-- Too many ids: so many are looked at in one go, as often as this, and so many forgotten in one call.
local LOOKED_AT, LOOKS, FORGOTTEN_MAX = 256, 4, 1000
local ALLOWED, DENIED, DECREASING, FINISHED, DENIED_BEFORE, OTHER, UNKNOWN, EXCEEDS = 0, 1, 2, 3, 4, 5, 6, 7

local count, index = tonumber(ARGV[5]), KEYS[#KEYS]
local requests = #KEYS - count - 1
local remember = tonumber(ARGV[2])
local meters, now, stale = load_known(count, clock(ARGV[1]), 6)
if not meters then return stale end

-- What is known of a lease: its answer, or nil when that is to be forgotten.
local function again(packed, n, wanted, amounts)
  local lease = cmsgpack.unpack(packed)
  if lease[1] ~= 'held' then
    if now >= lease[2] then return nil end
    return lease[1] == 'denied' and DENIED_BEFORE or FINISHED, 0, 0
  end
  if now >= lease[4] then return nil end
  if now >= lease[3] then return FINISHED, 0, 0 end
  local holds = lease[5]
  local same = 0
  for i = 1, #holds, 3 do
    for j = 1, n do
      if KEYS[wanted[j]] == holds[i] and amounts[j] == holds[i + 1] then same = same + 1 end
    end
  end
  if same ~= n or #holds ~= 3 * n then return OTHER, 0, 0 end
  return ALLOWED, lease[2], 0
end

-- Used again for each request: making tables is a good part of what a request costs.
local holds, wanted, amounts = { 0, 0, 0, 0, 0, 0, 0, 0, 0 }, { 0, 0, 0, 0 }, { 0, 0, 0, 0 }
local held = { 'held', now, 0, 0, holds }
-- Of the requirements that are read: whether they were found to be possible; a lease of them, once there is one,
-- and how long it is kept. At one time all that ask for the same are alike.
local is_possible, same_lease, same_ttl = false, nil, nil
-- The ids that are remembered from now on, as they are in the list of all of them.
local fresh, fresh_count, stamp = { false, false, false, false }, 0, text(now) .. ' '

-- The code and the limit where it never will be.
local function impossible(n)
  for j = 1, n do
    if not meters[wanted[j]] then return UNKNOWN, wanted[j] end
  end
  for j = 1, n do
    local m = meters[wanted[j]]
    if amounts[j] > (m.waiting >= 0 and m.waiting or m.capacity) then return EXCEEDS, wanted[j] end
  end
end

local function decide(key, packed, n)
  if packed then
    local code, value, limit = again(packed, n, wanted, amounts)
    if code then return code, value, limit end
  end
  if not is_possible then
    local code, limit = impossible(n)
    if code then return code, 0, limit end
    is_possible = true
  end
  local denied, retry = nil, 0
  for j = 1, n do
    local m, amount = meters[wanted[j]], amounts[j]
    local has_room = m.waiting < 0 and m.held + amount <= m.capacity
    if m.kind == BUCKET then has_room = m.level >= amount * MICRO end
    if not has_room or m.guard > now then
      denied = denied or wanted[j]
      retry = math.max(retry, slow().wait(m, amount))
    end
  end
  fresh_count = fresh_count + 1
  fresh[fresh_count] = stamp .. key
  if denied then
    call('PSETEX', key, ARGV[2], cmsgpack.pack({ 'denied', now + remember, now }))
    return meters[denied].waiting >= 0 and DECREASING or DENIED, retry, denied
  end
  local ends_at = now
  for j = 1, n do
    local ends = take(meters[wanted[j]], amounts[j])
    if ends > ends_at then ends_at = ends end
    holds[3 * j] = ends
  end
  if not same_lease then
    for i = #holds, 3 * n + 1, -1 do holds[i] = nil end
    for j = 1, n do holds[3 * j - 2], holds[3 * j - 1] = KEYS[wanted[j]], amounts[j] end
    held[3], held[4] = ends_at, ends_at + remember
    same_lease, same_ttl = cmsgpack.pack(held), text(ends_at + remember - now)
  end
  call('PSETEX', key, same_ttl, same_lease)
  return ALLOWED, now, 0
end

-- Where more ids are counted than may be remembered: forgets so many of them, those that are over first, then
-- the oldest (LIMIT-10). What a forgotten lease holds is held until its end.
local function forget(excess, survivors)
  local ids, old, over = index .. ':ids', index .. ':old', index .. ':over'

  local function parse(entry)
    local when, key = string.match(entry, '^(%d+) (.*)$')
    return tonumber(when), key
  end

  -- Whether what was remembered then is so still. Later the same id may have come anew.
  local function is_known(packed, when)
    local lease = packed and cmsgpack.unpack(packed)
    if not lease then return false end
    if lease[1] == 'held' then return now < lease[4] and lease[2] == when end
    return now < lease[2] and lease[3] == when
  end

  -- Those at the front of the list that may be over.
  local function front()
    local first = call('LINDEX', ids, 0)
    if not first or parse(first) > now - remember then return {}, {} end
    local keys, times = {}, {}
    for i, entry in ipairs(call('LRANGE', ids, 0, LOOKED_AT - 1)) do
      local when, key = parse(entry)
      if when > now - remember then break end
      keys[i], times[i] = key, when
    end
    return keys, times
  end

  local function keep_old(keys, packs)
    local last = tonumber(call('ZRANGE', old, -1, -1, 'WITHSCORES')[2] or 0)
    for i, key in ipairs(keys) do
      local lease = cmsgpack.unpack(packs[i])
      call('ZADD', old, text(last + i), key)
      call('ZADD', over, text(lease[1] == 'held' and lease[4] or lease[2]), key)
    end
    if survivors == 0 then
      slow().keep_like(index, old)
      slow().keep_like(index, over)
    end
    survivors = survivors + #keys
  end

  -- Takes those off the list; returns how many there were.
  local function look()
    local keys, times = front()
    if #keys == 0 then return 0 end
    call('LTRIM', ids, #keys, -1)
    local packs, known, known_packs = call('MGET', unpack(keys)), {}, {}
    for i, key in ipairs(keys) do
      if is_known(packs[i], times[i]) then
        known[#known + 1], known_packs[#known_packs + 1] = key, packs[i]
      end
    end
    if #known > 0 then keep_old(known, known_packs) end
    excess = excess - #keys + #known
    return #keys
  end

  if survivors > 0 then
    local gone = call('ZRANGEBYSCORE', over, '-inf', text(now), 'LIMIT', 0, FORGOTTEN_MAX)
    if #gone > 0 then
      call('ZREM', over, unpack(gone))
      call('ZREM', old, unpack(gone))
      excess, survivors = excess - #gone, survivors - #gone
    end
  end
  for _ = 1, LOOKS do
    if excess <= 0 or look() == 0 then break end
  end
  if excess <= 0 then return end

  excess = math.min(excess, FORGOTTEN_MAX)
  local oldest = {}
  if survivors > 0 then
    oldest = call('ZRANGE', old, 0, excess - 1)
    call('ZREM', old, unpack(oldest))
    call('ZREM', over, unpack(oldest))
  end
  local more = excess - #oldest
  if more > 0 then
    for _, entry in ipairs(call('LRANGE', ids, 0, more - 1)) do
      local _, key = parse(entry)
      oldest[#oldest + 1] = key
    end
    call('LTRIM', ids, more, -1)
  end
  call('DEL', unpack(oldest))
end

local function remember_fresh()
  local size = call('RPUSH', index .. ':ids', unpack(fresh, 1, fresh_count))
  if size == fresh_count then slow().keep_like(index, index .. ':ids') end
  local survivors = call('ZCARD', index .. ':old')
  local excess = size + survivors - tonumber(ARGV[3])
  if excess > 0 then forget(excess, survivors) end
end

local answers, at, n, left, seen = { now, 0, 0, 0, 0 }, 6 + count, 0, 0, {}
local size = 1
local packs = call('MGET', unpack(KEYS, count + 1, count + requests))
for request = 1, requests do
  local key, packed = KEYS[count + request], packs[request]
  -- Named twice in one batch: what the first has just become.
  if seen[key] then packed = call('GET', key) end
  seen[key] = true
  if left == 0 then
    left, n, is_possible, same_lease = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), false, nil
    for j = 1, n do
      wanted[j], amounts[j] = tonumber(ARGV[at + 2 * j]), tonumber(ARGV[at + 2 * j + 1])
    end
    at = at + 2 + 2 * n
  end
  left = left - 1
  local code, value, limit = decide(key, packed, n)
  if code ~= ALLOWED or value ~= now then
    answers[size + 1], answers[size + 2], answers[size + 3], answers[size + 4] = request, code, value, limit
    size = size + 4
  end
end
for i = size + 1, #answers do answers[i] = nil end
if fresh_count > 0 then remember_fresh() end
for i = 1, count do
  if meters[i] then save(meters[i], index) end
end
return answers
