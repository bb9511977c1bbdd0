import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { line } from '../data/line.ts'
import { useVerdict } from '../data/verdict.ts'
import { countText } from '../text/numbers.ts'
import { Mark } from './mark.tsx'
import { hrefOf, route } from './route.ts'
import type { Screen } from './screens.ts'

/** On a narrow screen: whether the menu is open. */
export const isMenuOpen = signal(false)

const GROUPS = ['Now', 'Work', 'Server'] as const

export function Nav({ screens }: { readonly screens: readonly Screen[] }): JSX.Element {
  const who = line.who.value
  return (
    <nav id="menu" class={isMenuOpen.value ? 'side open' : 'side'} aria-label="Screens">
      <a class="brand" href={hrefOf('')}>
        <Mark />
        Fairlead
      </a>
      <div class="nav">
        {GROUPS.map((group) => {
          const own = screens.filter((screen) => screen.group === group)
          if (own.length === 0) return null
          return (
            <div key={group}>
              <h2>{group}</h2>
              {own.map((screen) => (
                <NavLink key={screen.path} screen={screen} />
              ))}
            </div>
          )
        })}
      </div>
      <footer>
        <span>
          {who?.subject} ({who?.role}
          {who?.scope.read_only ? ', read-only' : ''})
        </span>
        <span>version {who?.version}</span>
      </footer>
    </nav>
  )
}

function NavLink({ screen }: { readonly screen: Screen }): JSX.Element {
  const { path, title } = screen
  const isHere = route.value.screen === path
  return (
    <a
      href={hrefOf(path)}
      aria-current={isHere ? 'page' : undefined}
      onClick={() => {
        isMenuOpen.value = false
      }}
    >
      {title}
      {path === 'waiting' ? <WaitingCount /> : null}
    </a>
  )
}

function WaitingCount(): JSX.Element | null {
  const { verdict, status } = useVerdict()
  if (verdict === null || status === 'unknown') return null
  return <span class="count">{countText(verdict.waiting)}</span>
}
