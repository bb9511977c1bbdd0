import { BucketMeter } from './bucket-meter.ts'
import type { Limit } from './limit-definition.ts'
import type { Meter, MeterState } from './meter.ts'
import { WindowMeter } from './window-meter.ts'

export function openMeter(limit: Limit, nowMs: number): Meter {
  return limit.kind === 'bucket'
    ? new BucketMeter(limit, nowMs, nowMs)
    : new WindowMeter(limit, nowMs)
}

export function restoreMeter({ limit, waiting, holds, bucket, countsFrom }: MeterState): Meter {
  if (limit.kind === 'bucket') {
    return new BucketMeter(limit, bucket?.atMs ?? 0, countsFrom, bucket?.levelMicro)
  }
  return new WindowMeter(limit, countsFrom, waiting?.kind === 'bucket' ? null : waiting, holds)
}
