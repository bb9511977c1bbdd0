import { type Job, type Payloads, PermanentFailure } from '@fairlead/client'

/** What a provider of the demo makes of a job; the demo knows what has to come out of it. */
export function answerTo({ kind, payload }: Pick<Job, 'kind' | 'payload'>): string {
  if (kind === 'ai') return aiAnswer(payload as Payloads['ai'])
  if (kind === 'quantum') return quantumAnswer(payload as Payloads['quantum'])
  return taskAnswer(payload as Payloads['task'])
}

function aiAnswer({ model, prompt }: Payloads['ai']): string {
  const words = new TextDecoder().decode(prompt).split(' ')
  return `${model} says: ${words.toReversed().join(' ')}`
}

/** A Bell pair: both zeros or both ones, about half of the shots each. */
function quantumAnswer({ shots, depth_hint }: Payloads['quantum']): string {
  const zeros = Math.floor(shots / 2) + (depth_hint % 7)
  return JSON.stringify({ '00': zeros, '11': shots - zeros })
}

function taskAnswer({ name, args }: Payloads['task']): string {
  if (name === 'sum') {
    const numbers = args['numbers'] as readonly number[]
    return String(numbers.reduce((sum, n) => sum + n, 0))
  }
  try {
    return JSON.stringify(JSON.parse(args['text'] as string))
  } catch {
    // No other provider could read it either.
    throw new PermanentFailure('invalid_input', 'the text is no JSON')
  }
}
