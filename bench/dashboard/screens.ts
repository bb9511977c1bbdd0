import type { NodeClient } from '@fairlead/client'

/** The calls that the screens of the dashboard make, by their names. */
export async function screens(client: NodeClient): Promise<Record<string, () => Promise<unknown>>> {
  const { jobs } = await client.call('aicf.listJobs', { order: 'newest', limit: 1 })
  const task_id = jobs[0]?.task_id ?? ''
  return {
    'auth.whoami': () => client.call('auth.whoami', {}),
    'stats.verdict': () => client.call('stats.verdict', {}),
    'stats.waiting': () => client.call('stats.waiting', {}),
    'stats.fairness': () => client.call('stats.fairness', {}),
    'stats.budgets': () => client.call('stats.budgets', {}),
    'stats.get': () => client.call('stats.get', {}),
    'stats.history': () => client.call('stats.history', {}),
    'stats.providers': () => client.call('stats.providers', {}),
    'stats.storage': () => client.call('stats.storage', {}),
    'queues.list': () => client.call('queues.list', {}),
    'aicf.listJobs': () => client.call('aicf.listJobs', { order: 'newest', limit: 100 }),
    'aicf.getJob': () => client.call('aicf.getJob', { task_id }),
    'aicf.getTimeline': () => client.call('aicf.getTimeline', { task_id }),
    'aicf.explainJob': () => client.call('aicf.explainJob', { task_id }),
    'aicf.listProviders': () => client.call('aicf.listProviders', {}),
    'schedules.list': () => client.call('schedules.list', {}),
    'policy.describe': () => client.call('policy.describe', {}),
    'audit.list': () => client.call('audit.list', { order: 'newest', limit: 100 }),
  }
}
