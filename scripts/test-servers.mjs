// Runs once before all tests: what several of them need is installed before they begin, not by each of
// them at the same time. Where that is not possible, the tests that need it say so.
import { chromiumPath } from '@fairlead/testkit/chromium'
import { hasRedisServer } from '@fairlead/testkit/servers'

export default function setup() {
  hasRedisServer()
  try {
    chromiumPath()
  } catch {
    // The tests of the page say that there is no browser.
  }
}
