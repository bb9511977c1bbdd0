-- complete.lua: LIMIT-12 for one request or a batch of them, in order.
-- KEYS     the limits, one lease a request, the index of all limits
-- ARGV     now or '', how long an id is remembered (ms), how many of them at most, how many times what was reserved an
--          actual counts at most, the number of limits, the version of each as the caller knows it; then for requests in a row with the same actuals: how many, the number of actuals,
--          and the number of the limit and the amount of each
-- returns  now, then three for each actual that was too much to be booked (LIMIT-19): the request, the limit, and as text
--          how much of it; or -1 and the numbers of limits that the caller knows otherwise; or -2 and the keys of limits
--          that a lease holds and the call did not name: then nothing was done
local factor, count, index = tonumber(ARGV[4]), tonumber(ARGV[5]), KEYS[#KEYS]
local requests = #KEYS - count - 1
local remember = tonumber(ARGV[2])
local meters, now, stale = load_known(count, clock(ARGV[1]), 6)
if not meters then return stale end

local function free(m, ends, amount)
  if ends <= now then return end
  m.held, m.dirty = m.held - amount, true
  if ends == m.last then
    local part = math.min(m.tail, amount)
    m.tail, amount = m.tail - part, amount - part
  end
  if amount == 0 then return end
  m.freed = m.freed or {}
  m.freed[ends] = (m.freed[ends] or 0) + amount
end

-- What was freed of each entry, in one go.
local function save_freed(m)
  for ends, amount in pairs(m.freed) do
    if call('HINCRBY', m.key, text(ends), text(-amount)) <= 0 then call('HDEL', m.key, text(ends)) end
  end
end

-- Puts actual usage in the place of what was reserved; -1 is none given. Returns what of it does not count.
local function book_actual(m, reserved, actual, ends)
  local beyond = 0
  if m.kind ~= CONCURRENCY then
    beyond = math.max(0, actual - math.max(factor * reserved, m.capacity))
    actual = actual - beyond
  end
  if m.kind == CONCURRENCY then
    free(m, ends, reserved)
  elseif actual >= 0 and m.kind == BUCKET then
    m.level = math.min(m.capacity * MICRO, m.level - (actual - reserved) * MICRO)
    m.dirty = true
  elseif actual >= 0 and actual < reserved then
    free(m, ends, reserved - actual)
  elseif actual > reserved then
    local excess = actual - reserved
    local capacity = m.waiting >= 0 and m.waiting or m.capacity
    if m.deny == 0 or m.held + excess <= capacity then take(m, excess) end
  end
  if m.waiting >= 0 then slow().apply_waiting(m) end
  return beyond
end

local number_of = {}
for i = 1, count do number_of[KEYS[i]] = i end

-- Each lease once, though it may be named twice.
local leases, missing = {}, { -2 }
local packs = call('MGET', unpack(KEYS, count + 1, count + requests))
for request = 1, requests do
  local key = KEYS[count + request]
  local packed = not leases[key] and packs[request]
  local lease = packed and cmsgpack.unpack(packed)
  if lease and lease[1] == 'held' and now < lease[4] then
    leases[key] = lease
    for i = 1, #lease[5], 3 do
      if not number_of[lease[5][i]] then missing[#missing + 1] = lease[5][i] end
    end
  end
end

-- Also where nothing is completed: what has run out meanwhile is gone from the entries.
local function save_all()
  for i = 1, count do
    local m = meters[i]
    if m and m.freed then save_freed(m) end
    if m then save(m, index) end
  end
end

if #missing > 1 then
  save_all()
  return missing
end

-- The lease from here on; those that were reserved at one time are alike.
local dones = {}
local function done(lease, key)
  local reserved_at = lease[2]
  -- Of this age it may be among those that are known by the time when they are over.
  if now - reserved_at >= remember then
    call('ZADD', index .. ':over', 'XX', text(now + remember), key)
  end
  local packed = dones[reserved_at]
  if not packed then
    packed = cmsgpack.pack({ 'completed', now + remember, reserved_at })
    dones[reserved_at] = packed
  end
  return packed
end

local answers, at, left = { now }, 6 + count, 0
local actual = {}
for request = 1, requests do
  if left == 0 then
    local n = tonumber(ARGV[at + 1])
    left = tonumber(ARGV[at])
    for i = 1, count do actual[i] = nil end
    for j = 1, n do
      local i = tonumber(ARGV[at + 2 * j])
      actual[i] = (actual[i] or 0) + tonumber(ARGV[at + 2 * j + 1])
    end
    at = at + 2 + 2 * n
  end
  left = left - 1
  local key = KEYS[count + request]
  local lease = leases[key]
  if lease then
    local holds = lease[5]
    for h = 1, #holds, 3 do
      local i = number_of[holds[h]]
      -- It may have been deleted or reset since.
      if meters[i] and lease[2] >= meters[i].since then
        local beyond = book_actual(meters[i], holds[h + 1], actual[i] or -1, holds[h + 2])
        if beyond > 0 then
          local n = #answers
          answers[n + 1], answers[n + 2], answers[n + 3] = request, i, text(math.min(beyond, NEVER))
        end
      end
    end
    call('PSETEX', key, ARGV[2], done(lease, key))
    leases[key] = nil
  end
end
save_all()
return answers
