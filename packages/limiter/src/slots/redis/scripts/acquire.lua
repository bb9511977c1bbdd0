-- acquire.lua: SLOT-5, starts as many jobs of one estimate as fit, in order.
-- KEYS     as in pool-state.lua, the instance's own
-- ARGV     the four of every call; tokens and requests of each job; then a reference for each
-- returns  how many of them are started, from the first on, and the rest of every answer; or -1 if the caller has
--          to register first, and nothing was done. A reference that is in flight already is started once.
local m = load()
if not m or not is_member(m) then return { NOT_A_MEMBER } end
local tokens, requests = tonumber(ARGV[5]), tonumber(ARGV[6])

local function fits(limit, used, amount)
  return limit < 0 or amount <= limit - used
end

local function has_room()
  return m.guard <= m.now
    and fits(m.max_tpm, m.tpm, tokens) and fits(m.max_rpm, m.rpm, requests)
    and fits(m.max_tpd, m.tpd, tokens) and fits(m.max_rpd, m.rpd, requests)
    and fits(m.max_flight, m.flight, 1)
end

local known = call('HMGET', KEYS[3], unpack(ARGV, 7))
local start = start_of(tokens, requests, m.minute, m.day)
local granted, new = 0, {}
for i = 1, #known do
  if not known[i] then
    if not has_room() then break end
    add_usage(m, m.minute, tokens, requests, m.day, tokens, requests)
    m.flight = m.flight + 1
    new[#new + 1], new[#new + 2] = ARGV[6 + i], start
  end
  granted = granted + 1
end
if #new > 0 then
  local added = call('HSET', KEYS[3], unpack(new))
  if added == call('HLEN', KEYS[3]) then call('PEXPIRE', KEYS[3], text(KEEP_FLIGHT_MS)) end
end
return answer(m, granted, #new > 0)
