-- find-lease: one lease.
-- in: id      out: one row, or none
SELECT lease_rows.* FROM all_names
JOIN leases ON leases.job = all_names.job
JOIN lease_rows ON lease_rows.job = leases.job AND lease_rows.attempt = leases.attempt
WHERE all_names.name = name_of(?1) AND leases.id = ?1
