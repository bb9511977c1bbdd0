-- find-leader: LEADER-1, who leads.
-- in: nothing      out: epoch, node, the time of its last sign of life in ms
SELECT epoch, node, floor(extract(epoch FROM beat_at) * 1000)::bigint FROM leaders WHERE partition = 0
