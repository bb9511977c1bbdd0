-- prelude.lua: stands in front of every script, before what those of a folder share.

local call = redis.call

local function text(number)
  return string.format('%.0f', number)
end

-- In ms: as a test gives it, else the server's own.
local function clock(given)
  if given ~= '' then return tonumber(given) end
  local time = call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
