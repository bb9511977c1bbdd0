import type { MethodName } from '@fairlead/client'
import type { ComponentType } from 'preact'
import { AuditScreen } from '../screens/audit/audit-screen.tsx'
import { BudgetsScreen } from '../screens/budgets/budgets-screen.tsx'
import { FairnessScreen } from '../screens/fairness/fairness-screen.tsx'
import { JobScreen } from '../screens/job/job-screen.tsx'
import { JobsScreen } from '../screens/jobs/jobs-screen.tsx'
import { OverviewScreen } from '../screens/overview/overview-screen.tsx'
import { PolicyScreen } from '../screens/policy/policy-screen.tsx'
import { ProviderScreen } from '../screens/providers/provider-screen.tsx'
import { ProvidersScreen } from '../screens/providers/providers-screen.tsx'
import { QueuesScreen } from '../screens/queues/queues-screen.tsx'
import { SchedulesScreen } from '../screens/schedules/schedules-screen.tsx'
import { SessionScreen } from '../screens/sessions/session-screen.tsx'
import { SessionsScreen } from '../screens/sessions/sessions-screen.tsx'
import { SettlementsScreen } from '../screens/settlements/settlements-screen.tsx'
import { StorageScreen } from '../screens/storage/storage-screen.tsx'
import { WaitingScreen } from '../screens/waiting/waiting-screen.tsx'

export interface ScreenProps {
  /** What the address says behind the name of the screen. */
  readonly rest: readonly string[]
}

export interface Screen {
  readonly path: string
  readonly title: string
  readonly group: 'Now' | 'Work' | 'Server'
  /** Calls without which the screen has nothing to show. */
  readonly needs: readonly MethodName[]
  /** Only where the server is a market. */
  readonly isMarket?: boolean
  readonly list: ComponentType
  /** One of the list. */
  readonly one?: ComponentType<ScreenProps>
}

export const SCREENS: readonly Screen[] = [
  { path: '', title: 'Overview', group: 'Now', needs: ['stats.verdict'], list: OverviewScreen },
  {
    path: 'waiting',
    title: 'Waiting',
    group: 'Now',
    needs: ['stats.waiting'],
    list: WaitingScreen,
  },
  {
    path: 'budgets',
    title: 'Budgets',
    group: 'Now',
    needs: ['stats.budgets'],
    list: BudgetsScreen,
  },
  {
    path: 'fairness',
    title: 'Fairness',
    group: 'Now',
    needs: ['stats.fairness'],
    list: FairnessScreen,
  },
  {
    path: 'jobs',
    title: 'Jobs',
    group: 'Work',
    needs: ['aicf.listJobs'],
    list: JobsScreen,
    one: JobScreen,
  },
  { path: 'queues', title: 'Queues', group: 'Work', needs: ['queues.list'], list: QueuesScreen },
  {
    path: 'schedules',
    title: 'Schedules',
    group: 'Work',
    needs: ['schedules.list'],
    list: SchedulesScreen,
  },
  {
    path: 'sessions',
    title: 'Sessions',
    group: 'Work',
    needs: ['signup.listSessions'],
    list: SessionsScreen,
    one: SessionScreen,
  },
  {
    path: 'providers',
    title: 'Providers',
    group: 'Work',
    needs: ['aicf.listProviders'],
    list: ProvidersScreen,
    one: ProviderScreen,
  },
  {
    path: 'settlements',
    title: 'Settlements',
    group: 'Work',
    needs: ['aicf.listSettlements'],
    isMarket: true,
    list: SettlementsScreen,
  },
  { path: 'audit', title: 'Audit', group: 'Server', needs: ['audit.list'], list: AuditScreen },
  {
    path: 'policy',
    title: 'Policy',
    group: 'Server',
    needs: ['policy.describe'],
    list: PolicyScreen,
  },
  {
    path: 'storage',
    title: 'Storage',
    group: 'Server',
    needs: ['stats.storage'],
    list: StorageScreen,
  },
]
