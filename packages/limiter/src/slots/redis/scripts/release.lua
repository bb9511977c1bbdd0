-- release.lua: SLOT-7, ends jobs with what they have used.
-- KEYS     as in pool-state.lua, the instance's own
-- ARGV     the four of every call; then for each job its reference, tokens and requests, -1 where it did not say
-- returns  0 and the rest of every answer; or -1 if the caller has to register first, and nothing was done
local m = load()
if not m or not is_member(m) then return { NOT_A_MEMBER } end

local function end_job(start, tokens, requests)
  local thought_tokens, thought_requests, minute, day = string.match(start, '(%d+) (%d+) (%d+) (%d+)')
  m.flight = m.flight - 1
  if tokens < 0 then return end
  local more, more_requests = tokens - thought_tokens, requests - thought_requests
  -- What was not used goes back to the windows of the start, what was used beyond that counts now.
  add_usage(m, tonumber(minute), math.min(0, more), math.min(0, more_requests),
    tonumber(day), math.min(0, more), math.min(0, more_requests))
  add_usage(m, m.minute, math.max(0, more), math.max(0, more_requests),
    m.day, math.max(0, more), math.max(0, more_requests))
end

local has_changed = false
for at = 5, #ARGV, 3 do
  local start = call('HGET', KEYS[3], ARGV[at])
  if start then
    call('HDEL', KEYS[3], ARGV[at])
    end_job(start, tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]))
    has_changed = true
  end
end
return answer(m, 0, has_changed)
