import { render } from 'preact'
import { startTicking } from '../data/clock.ts'
import { line } from '../data/line.ts'
import { loadPreferences } from '../data/preferences.ts'
import { App } from './app.tsx'
import { listenToKeys } from './keyboard.ts'
import { followAddress } from './route.ts'
import './styles/index.css'

loadPreferences()
followAddress()
startTicking()
listenToKeys()
line.start()
render(<App />, document.getElementById('app') as HTMLElement)
