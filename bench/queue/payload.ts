/** The same work for every subject: some 200 bytes, with the number of the job in it. */
export interface Payload {
  readonly model: string
  readonly prompt: string
  readonly max_tokens: number
}

const TEXT =
  'Summarise the minutes of the meeting in three sentences for those who were not there. '
const PROMPT_BYTES = 150

/** The number stands first, so that it can be read again. */
export function payloadNumber(n: number): Payload {
  const prompt = `${n} ${TEXT}${TEXT}`.slice(0, PROMPT_BYTES)
  return { model: 'llama3-8b', prompt, max_tokens: 256 }
}

export function numberOf(prompt: string): number {
  return Number.parseInt(prompt, 10)
}
