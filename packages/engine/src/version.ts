/**
 * The version of these rules, as people install it. The tables keep it: if a later version replays the log otherwise, the
 * operator is told which version can finish the log (REPLAY-1).
 */
export const VERSION = '0.1.0'
