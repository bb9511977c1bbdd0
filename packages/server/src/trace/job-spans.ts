import type { JobId } from '@fairlead/core'
import type { EngineEvent, EngineView } from '@fairlead/engine'
import { type Span, SpanStatusCode } from '@opentelemetry/api'
import type { Traces } from './traces.ts'
import { parentOf, type Tracing } from './tracing.ts'

const ENDS: ReadonlySet<string> = new Set([
  'jobCompleted',
  'jobFailed',
  'jobExpired',
  'jobCanceled',
])

/** Follows jobs that came with a trace: a span for the wait, and one for each attempt. */
export class JobSpans {
  readonly #traces: Traces
  readonly #view: EngineView
  /** Null: jobs are followed only so that their traces are forgotten in time. */
  readonly #tracing: Tracing | null
  readonly #attempts = new Map<JobId, Span>()

  constructor(parts: { traces: Traces; view: EngineView; tracing: Tracing | null }) {
    this.#traces = parts.traces
    this.#view = parts.view
    this.#tracing = parts.tracing
  }

  see(event: EngineEvent): void {
    if (this.#tracing === null && this.#traces.isEmpty) return
    if (event.type !== 'jobAssigned' && event.type !== 'jobRequeued' && !ENDS.has(event.type))
      return
    const waitedSince =
      'jobId' in event ? (this.#view.job(event.jobId)?.enqueueTs ?? event.at) : event.at
    // A job may be assigned before its enqueue is answered, and its trace be known.
    setImmediate(() => this.#follow(event, waitedSince))
  }

  #follow(event: EngineEvent, waitedSince: number): void {
    if (!('jobId' in event)) return
    const { jobId, at, type } = event
    const traceparent = this.#traces.of(jobId)
    if (traceparent === null) return
    if (event.type === 'jobAssigned') this.#assigned(event, traceparent, waitedSince)
    else {
      const attempt = this.#attempts.get(jobId)
      if (type !== 'jobCompleted') attempt?.setStatus({ code: SpanStatusCode.ERROR, message: type })
      attempt?.end(at)
      this.#attempts.delete(jobId)
    }
    if (ENDS.has(type)) this.#traces.end(jobId)
  }

  #assigned(
    { jobId, at, providerId }: Extract<EngineEvent, { type: 'jobAssigned' }>,
    traceparent: string,
    waitedSince: number,
  ): void {
    if (this.#tracing === null) return
    const { tracer } = this.#tracing
    const parent = parentOf(traceparent)
    const attributes = { 'fairlead.task_id': jobId }
    tracer.startSpan('fairlead.wait', { startTime: waitedSince, attributes }, parent).end(at)
    const attempt = tracer.startSpan(
      'fairlead.attempt',
      { startTime: at, attributes: { ...attributes, 'fairlead.provider_id': providerId } },
      parent,
    )
    this.#attempts.set(jobId, attempt)
  }
}
