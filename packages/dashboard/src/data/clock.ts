import { signal } from '@preact/signals'

/** Ticks while the page is seen; read it to be drawn anew. By the clock of the page. */
export const tick = signal(performance.now())

const TICK_MS = 250
/** The time of the server at the zero of the page's own clock. */
let serverZero: number | null = null

export function startTicking(): void {
  setInterval(() => {
    if (document.visibilityState === 'visible') tick.value = performance.now()
  }, TICK_MS)
}

/** The server has told its time. */
export function learnServerTime(at: number, receivedAt: number): void {
  serverZero = at - receivedAt
}

/** The time of the server now. The machine of the page may have another idea of it. */
export function serverNow(): number {
  return serverZero === null ? Date.now() : Math.round(serverZero + tick.value)
}
