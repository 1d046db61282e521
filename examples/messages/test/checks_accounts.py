# Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
"""Several accounts of one app, in the account menu and on the pages that have none."""

import json
import time

import pictures
from checks import check, expect, same

ROWS = "[...document.querySelectorAll('dialog[open] [data-account]')].map((row) => row.dataset.account)"


def opened(browser, people, **more):
    browser.open(accounts=json.dumps(people), **more)
    browser.wait("document.querySelector('.row-link, .screen') !== null")


@check("LK-5, LK-6, accounts: the account menu lists everybody, marks who is in use, goes over and adds, by keyboard and in French")
def _(browser, servers):
    browser.open()
    browser.wait("document.querySelector('.row-link') !== null")
    pictures.account(browser)
    same(browser.js("document.querySelector('.accounts, [data-account]')"), None, "nothing of accounts in an app that has one")

    opened(browser, pictures.SEVERAL[:1])
    pictures.account(browser)
    same(browser.js(ROWS), ["add"], "one person is no list")

    opened(browser, pictures.SEVERAL)
    browser.js("{document.querySelector('.account-button').focus()}")
    browser.key("Enter")
    browser.wait("document.querySelector('dialog.account-menu[open]') !== null")
    same(browser.js(ROWS), ["first", "b", "c", "add"], "who is listed")
    same(browser.js("[...document.querySelectorAll('[aria-current=true]')].map((row) => row.dataset.account)"), ["first"], "who is marked")
    said = browser.js("[...document.querySelectorAll('.account-row')].map((row) => row.innerText)")
    expect("mail.ville.example" in said[0] and "courrier." in said[1], f"the servers tell them apart: {said}")
    expect("Signed out" in said[2] and "Signed out" not in said[0], f"who is signed out: {said}")
    same(browser.js("document.querySelector('.accounts ul').getAttribute('aria-label')"), "Accounts", "the list's name")
    browser.key(*walk(browser, "b"), "Enter")
    browser.wait("document.querySelector('dialog') === null")
    same(browser.js("testing.calls"), ["switch b"], "calls")

    pictures.account(browser)
    browser.click("[data-account=first]")
    same(browser.js("testing.calls"), ["switch b"], "whoever is here goes nowhere")
    pictures.account(browser)
    browser.click("[data-account=add]")
    same(browser.js("testing.calls"), ["switch b", "add"], "calls")

    opened(browser, pictures.SEVERAL, language="fr")
    pictures.account(browser)
    words = browser.js("document.querySelector('.accounts').innerText")
    expect("Ajouter un autre compte" in words and "Session fermée" in words, words)


def walk(browser, account):
    """Tab as often as it takes from where the focus is to this row."""
    return ["Tab"] * browser.js(
        "(() => { const stops = [...document.querySelectorAll('dialog[open] button')];"
        " return stops.findIndex((stop) => stop.dataset.account === arguments[0]) - stops.indexOf(document.activeElement); })()".replace(
            "arguments[0]", json.dumps(account)))


@check("LK-8, accounts: a change that is refused is said, in plain words")
def _(browser, servers):
    for code, words in (("accounts.too_many", "Remove one first"), ("accounts.busy", "could not be changed")):
        opened(browser, pictures.SEVERAL)
        browser.js("{testing.accounts.refusal = arguments[0]}", code)
        pictures.account(browser)
        browser.click("[data-account=add]")
        browser.wait(f"document.querySelector('.toast')?.textContent.includes({json.dumps(words)})", what=code)


@check("LK-8, accounts: whoever is not signed in finds the way back to the others")
def _(browser, servers):
    opened(browser, pictures.NEWCOMER, snapshot=pictures.GONE)
    names = browser.js("[...document.querySelectorAll('.other-accounts [data-account]')].map((row) => row.dataset.account)")
    same(names, ["first", "b", "c"], "who is listed")
    browser.click(".other-accounts [data-account=b]")
    same(browser.js("testing.calls"), ["switch b"], "calls")
    # A new account that nobody has used is nobody to go back to.
    opened(browser, [pictures.SEVERAL[0], pictures.NEWCOMER[0]], snapshot=pictures.GONE)
    time.sleep(0.2)
    same(browser.js("document.querySelector('.other-accounts')"), None, "an unused account")
