/** A minute in six pieces: what is older is forgotten a piece at a time. */
const PIECE_MS = 10_000
const PIECES = 6

interface Piece {
  at: number
  answers: number
  throttled: number
  broken: number
}

/** What a booking site answered in the last minute. */
export class AnswerWindow {
  readonly #pieces: Piece[] = []

  /** `http` is that of a refusal; null for a success, or for no answer that had one. */
  add(nowMs: number, http: number | null): void {
    const at = Math.floor(nowMs / PIECE_MS)
    let piece = this.#pieces.at(-1)
    if (piece?.at !== at) {
      piece = { at, answers: 0, throttled: 0, broken: 0 }
      this.#pieces.push(piece)
      if (this.#pieces.length > PIECES) this.#pieces.shift()
    }
    piece.answers++
    if (http === 429) piece.throttled++
    else if (http !== null && http >= 500) piece.broken++
  }

  shares(nowMs: number): {
    readonly answers: number
    readonly of429: number
    readonly of5xx: number
  } {
    const oldest = Math.floor(nowMs / PIECE_MS) - PIECES
    const recent = this.#pieces.filter(({ at }) => at > oldest)
    const sum = (count: (piece: Piece) => number): number =>
      recent.reduce((total, piece) => total + count(piece), 0)
    const answers = sum((piece) => piece.answers)
    const share = (count: number): number => (answers === 0 ? 0 : count / answers)
    return {
      answers,
      of429: share(sum((piece) => piece.throttled)),
      of5xx: share(sum((piece) => piece.broken)),
    }
  }
}
