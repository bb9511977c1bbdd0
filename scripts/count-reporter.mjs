/** Ends a run with `N passed, N failed` on a line of its own, for people and scripts alike. */
export default class CountReporter {
  onTestRunEnd(modules, errors) {
    const counts = { passed: 0, failed: 0, skipped: 0, pending: 0 }
    for (const module of modules) {
      if (module.state() === 'failed' && [...module.children.allTests()].length === 0)
        counts.failed++
      for (const test of module.children.allTests()) counts[test.result().state]++
    }
    const failed = counts.failed + errors.length
    process.once('exit', () => console.log(`${counts.passed} passed, ${failed} failed`))
  }
}
