//! Who works on what: claims, leases, fences, attempts, budgets, dead letters.
