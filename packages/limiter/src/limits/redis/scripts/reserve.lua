-- reserve.lua: LIMIT-8 to LIMIT-11 for one request or a batch of them, in order.
-- KEYS     the limits, one lease a request, the index of all limits
-- ARGV     now or '', how long an id is remembered (ms), the number of limits, the version of each as the
--          caller knows it; then for requests in a row that ask for the same: how many, the number of
--          requirements, and the number of the limit and the amount of each
-- returns  now, then four numbers for each request that was not simply allowed just now: which, code, value,
--          limit; or -1 and the limits that the caller knows otherwise, and nothing was done
-- A lease is a string: packed {'held', reserved_at, ends_at, forget_at, {limit, amount, end, …}}, or
-- {'completed' | 'denied', forget_at}.
local ALLOWED, DENIED, DECREASING, FINISHED, DENIED_BEFORE, OTHER, UNKNOWN, EXCEEDS = 0, 1, 2, 3, 4, 5, 6, 7

local count, index = tonumber(ARGV[3]), KEYS[#KEYS]
local requests = #KEYS - count - 1
local remember = tonumber(ARGV[2])
local meters, now, stale = load_known(count, clock(ARGV[1]), 4)
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
  if denied then
    call('PSETEX', key, ARGV[2], cmsgpack.pack({ 'denied', now + remember }))
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

local answers, at, n, left, seen = { now, 0, 0, 0, 0 }, 4 + count, 0, 0, {}
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
for i = 1, count do
  if meters[i] then save(meters[i], index) end
end
return answers
