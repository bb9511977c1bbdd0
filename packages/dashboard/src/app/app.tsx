import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { line } from '../data/line.ts'
import { forgetAnswers } from '../data/live.ts'
import { useMarket } from '../data/market.ts'
import { may } from '../data/rights.ts'
import { Notices } from '../parts/dialog/notices.tsx'
import { Empty, Title } from '../parts/panel.tsx'
import { Bar } from './bar.tsx'
import { Connecting } from './connecting.tsx'
import { Help } from './help.tsx'
import { focusScreen } from './keyboard.ts'
import { Login } from './login.tsx'
import { Nav } from './nav.tsx'
import { hrefOf, route } from './route.ts'
import { SCREENS, type Screen } from './screens.ts'

export function App(): JSX.Element {
  const who = line.who.value
  useEffect(forgetAnswers, [who?.token_id])
  if (line.state.value === 'refused') return <Login />
  if (who === null) return <Connecting />
  return <Shell />
}

function Shell(): JSX.Element {
  const isMarket = useMarket()
  const shown = SCREENS.filter((screen) => isShown(screen, isMarket))
  const { screen: path, rest } = route.value
  const screen = shown.find((one) => one.path === path)
  const place = `${path}/${rest.join('/')}`
  useEffect(() => {
    focusScreen()
    scrollTo(0, 0)
  }, [place])
  useEffect(() => {
    document.title = screen === undefined ? 'Fairlead' : `${screen.title} · Fairlead`
  }, [screen])
  return (
    <>
      <button type="button" class="skip" onClick={toMain}>
        To the content
      </button>
      <div class="shell">
        <Nav screens={shown} />
        <div>
          <Bar />
          <main id="main" tabIndex={-1}>
            <Content screen={screen} first={shown[0]} rest={rest} place={place} />
          </main>
        </div>
      </div>
      <Help />
      <Notices />
    </>
  )
}

function toMain(): void {
  document.getElementById('main')?.focus()
}

function isShown({ needs, isMarket = false }: Screen, isInMarket: boolean): boolean {
  return may(...needs) && (!isMarket || isInMarket)
}

function Content(props: {
  readonly screen: Screen | undefined
  readonly first: Screen | undefined
  readonly rest: readonly string[]
  readonly place: string
}): JSX.Element {
  const { screen, first, rest, place } = props
  if (screen === undefined) {
    return (
      <>
        <Title text="There is nothing here" />
        <Empty>
          <p>This address leads nowhere, or your token may not see what is there.</p>
          {first === undefined ? null : <a href={hrefOf(first.path)}>Go to {first.title}</a>}
        </Empty>
      </>
    )
  }
  const { list: List, one: One } = screen
  return rest.length > 0 && One !== undefined ? (
    <One key={place} rest={rest} />
  ) : (
    <List key={place} />
  )
}
