// Runs once before all tests: what several of them need is installed before they begin, not by each of
// them at the same time. Where that is not possible, the tests that need it say so.
import { hasRedisServer } from '@fairlead/testkit/servers'

export default function setup() {
  hasRedisServer()
}
