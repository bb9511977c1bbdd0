import type { Place, Subject, SubjectName, WrittenPolicy } from './subject.ts'
import { openBullmq } from './subjects/bullmq.ts'
import { openFairlead } from './subjects/fairlead.ts'
import { openGraphileWorker } from './subjects/graphile-worker.ts'
import { openPgBoss } from './subjects/pg-boss.ts'
import { openPlainjob } from './subjects/plainjob.ts'

export function openSubject(
  name: SubjectName,
  place: Place,
  policy: WrittenPolicy = {},
): Promise<Subject> {
  switch (name) {
    case 'fairlead':
      return openFairlead(place, { store: 'sqlite', policy })
    case 'fairlead-relaxed':
      return openFairlead(place, { store: 'sqlite-relaxed', policy })
    case 'fairlead-postgres':
      return openFairlead(place, { store: 'postgres', policy })
    case 'bullmq':
    case 'bullmq-aof':
      return openBullmq(place)
    case 'graphile-worker':
      return openGraphileWorker(place)
    case 'pg-boss':
      return openPgBoss(place)
    case 'plainjob':
      return openPlainjob(place)
  }
}
