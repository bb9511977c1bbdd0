/** Every file of a store has people's work in it: only its owner may read it (FILES-1). */
export const OWNER_ONLY = 0o600
