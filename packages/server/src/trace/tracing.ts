import { FairleadError } from '@fairlead/core'
import {
  type Context,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'

/** Makes spans and sends them to where they are gathered (TRACE-1). */
export interface Tracing {
  readonly tracer: Tracer
  /** A span for one call; the returned function ends it with the outcome. */
  call(method: string, traceparent: string | null): (code: string) => void
  /** Sends what is left. */
  close(): Promise<void>
}

const CLOSE_MS = 1_000

/** Loads the SDK, which is heavy and optional, only for those who have an endpoint. */
export async function startTracing(endpoint: string, version: string): Promise<Tracing> {
  const [base, exporter, resources] = await Promise.all([
    import('@opentelemetry/sdk-trace-base'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
  ]).catch((cause: unknown) => {
    throw new FairleadError(
      'InvalidParams',
      'otlp_endpoint: traces need packages that are not installed; run npm install @opentelemetry/sdk-trace-base @opentelemetry/resources @opentelemetry/exporter-trace-otlp-http',
      { field: 'otlp_endpoint' },
      { cause },
    )
  })
  const url = `${endpoint.replace(/\/+$/, '')}/v1/traces`
  const provider = new base.BasicTracerProvider({
    resource: resources.resourceFromAttributes({
      'service.name': 'fairlead',
      'service.version': version,
    }),
    spanProcessors: [new base.BatchSpanProcessor(new exporter.OTLPTraceExporter({ url }))],
  })
  const tracer = provider.getTracer('fairlead', version)
  return {
    tracer,
    call(method, traceparent) {
      const options = {
        kind: SpanKind.SERVER,
        attributes: { 'rpc.system': 'jsonrpc', 'rpc.method': method },
      }
      const span = tracer.startSpan(method, options, parentOf(traceparent))
      return (code) => {
        if (code !== 'ok') span.setStatus({ code: SpanStatusCode.ERROR, message: code })
        span.end()
      }
    },
    close: async () => {
      // An endpoint that is away must not hold up a shut-down, nor fail it.
      const patience = new Promise<void>((resolve) => setTimeout(resolve, CLOSE_MS).unref())
      await Promise.race([provider.shutdown().catch(() => undefined), patience])
    },
  }
}

/** The context that a W3C traceparent stands for. */
export function parentOf(traceparent: string | null): Context {
  const [, traceId, spanId, flags] = traceparent?.split('-') ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return ROOT_CONTEXT
  const traceFlags = Number.parseInt(flags, 16)
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true })
}
