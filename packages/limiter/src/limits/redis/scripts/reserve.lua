-- reserve.lua: LIMIT-8 to LIMIT-11 for one request or a batch of them, in order.
-- KEYS     the limits, then one lease a request
-- ARGV     now or '', how long an id is remembered (ms), the number of limits, the version of each as the
--          caller knows it; then for each request the number of requirements, and the number of the limit
--          and the amount of each
-- returns  now, then three numbers a request: code, value, limit; or -1 and the limits that the caller knows
--          otherwise, and nothing was done
-- A lease is a string: packed {'held', reserved_at, ends_at, forget_at, {limit, amount, end, …}}, or
-- {'completed' | 'denied', forget_at}.
local ALLOWED, DENIED, DECREASING, FINISHED, DENIED_BEFORE, OTHER, UNKNOWN, EXCEEDS = 0, 1, 2, 3, 4, 5, 6, 7

local count = tonumber(ARGV[3])
local remember = tonumber(ARGV[2])
local meters, now, stale = load_known(count, clock(ARGV[1]), 4)
if not meters then return { -1, unpack(stale) } end

local function remember_lease(key, lease, forget_at)
  call('SET', key, cmsgpack.pack(lease), 'PX', text(math.max(1, forget_at - now)))
end

local function is_same(holds, wanted, amounts)
  if #holds ~= 3 * #wanted then return false end
  for i = 1, #holds, 3 do
    local found = false
    for j = 1, #wanted do
      found = found or (KEYS[wanted[j]] == holds[i] and amounts[j] == holds[i + 1])
    end
    if not found then return false end
  end
  return true
end

-- What is known of the lease: its answer, or nil.
local function again(key, wanted, amounts)
  local packed = call('GET', key)
  if not packed then return nil end
  local lease = cmsgpack.unpack(packed)
  if lease[1] ~= 'held' then
    if now >= lease[2] then return nil end
    return lease[1] == 'denied' and DENIED_BEFORE or FINISHED, 0, 0
  end
  if now >= lease[4] then return nil end
  if now >= lease[3] then return FINISHED, 0, 0 end
  if not is_same(lease[5], wanted, amounts) then return OTHER, 0, 0 end
  return ALLOWED, lease[2], 0
end

local function reserve(key, wanted, amounts)
  local code, value, limit = again(key, wanted, amounts)
  if code then return code, value, limit end
  for _, i in ipairs(wanted) do
    if not meters[i] then return UNKNOWN, 0, i end
  end
  for j, i in ipairs(wanted) do
    if amounts[j] > amount_max(meters[i]) then return EXCEEDS, 0, i end
  end
  local denied, retry = nil, 0
  for j, i in ipairs(wanted) do
    if not fits(meters[i], amounts[j]) then
      denied = denied or i
      retry = math.max(retry, wait(meters[i], amounts[j]))
    end
  end
  if denied then
    remember_lease(key, { 'denied', now + remember }, now + remember)
    return meters[denied].waiting >= 0 and DECREASING or DENIED, retry, denied
  end
  local holds, ends_at = {}, now
  for j, i in ipairs(wanted) do
    local ends = take(meters[i], amounts[j])
    if ends > ends_at then ends_at = ends end
    holds[3 * j - 2], holds[3 * j - 1], holds[3 * j] = KEYS[i], amounts[j], ends
  end
  remember_lease(key, { 'held', now, ends_at, ends_at + remember, holds }, ends_at + remember)
  return ALLOWED, now, 0
end

local answers, at = { now }, 4 + count
for request = 1, #KEYS - count do
  local wanted, amounts = {}, {}
  for j = 1, tonumber(ARGV[at]) do
    wanted[j], amounts[j] = tonumber(ARGV[at + 2 * j - 1]), tonumber(ARGV[at + 2 * j])
  end
  at = at + 1 + 2 * #wanted
  local code, value, limit = reserve(KEYS[count + request], wanted, amounts)
  local n = #answers
  answers[n + 1], answers[n + 2], answers[n + 3] = code, value, limit
end
for i = 1, count do
  if meters[i] then save(meters[i]) end
end
return answers
