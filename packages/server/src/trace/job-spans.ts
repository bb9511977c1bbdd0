import type { JobId } from '@fairlead/core'
import type { EngineEvent, EngineView } from '@fairlead/engine'
import { type Span, SpanStatusCode } from '@opentelemetry/api'
import { parentOf, type Tracing } from './tracing.ts'

/** What ends an attempt. */
const ENDS: ReadonlySet<EngineEvent['type']> = new Set<EngineEvent['type']>([
  'jobCompleted',
  'jobRequeued',
  'jobFailed',
  'jobExpired',
  'jobCanceled',
])

/** Follows jobs that came with a trace: a span for the wait, and one for each attempt. */
export class JobSpans {
  readonly #view: EngineView
  readonly #tracing: Tracing
  readonly #attempts = new Map<JobId, Span>()

  constructor(view: EngineView, tracing: Tracing) {
    this.#view = view
    this.#tracing = tracing
  }

  see(event: EngineEvent): void {
    if (event.type === 'jobAssigned') this.#begin(event)
    else if (ENDS.has(event.type) && 'jobId' in event) this.#end(event.jobId, event.at, event.type)
  }

  #begin({ jobId, at, providerId }: Extract<EngineEvent, { type: 'jobAssigned' }>): void {
    const job = this.#view.job(jobId)
    const traceparent = job?.origin?.traceparent
    if (job === null || traceparent === undefined) return
    const { tracer } = this.#tracing
    const parent = parentOf(traceparent)
    const attributes = { 'fairlead.task_id': jobId }
    tracer.startSpan('fairlead.wait', { startTime: job.enqueueTs, attributes }, parent).end(at)
    const attempt = tracer.startSpan(
      'fairlead.attempt',
      { startTime: at, attributes: { ...attributes, 'fairlead.provider_id': providerId } },
      parent,
    )
    this.#attempts.set(jobId, attempt)
  }

  #end(jobId: JobId, at: number, how: EngineEvent['type']): void {
    const attempt = this.#attempts.get(jobId)
    if (attempt === undefined) return
    if (how !== 'jobCompleted') attempt.setStatus({ code: SpanStatusCode.ERROR, message: how })
    attempt.end(at)
    this.#attempts.delete(jobId)
  }
}
