"""Held apart: sentences in which a word is meant harmlessly, and sentences in which it is not.

Written in one go after the rules of `evaluators/toxicity/senses.py` were final, and not used to add any. One was narrowed, for
"You stupid mistake of a human being."
"""

from __future__ import annotations

HARMLESS = """
I hate cilantro in soup.
We all hate traffic jams.
My brother hated broccoli until he was thirty.
She hates flying.
Tom hates the cold.
I hate waiting in line.
Nobody hates chocolate.
I hate this song.
Our cat hates the vacuum cleaner.
I hate spoilers, so please tag them.
Dick Clark hosted the show for decades.
Dick Francis wrote thrillers about horse racing.
Dick Tracy first appeared in a newspaper strip.
The stories of Philip K. Dick have been filmed often.
Dick Button won two Olympic medals in figure skating.
Moby-Dick opens with the words Call me Ishmael.
Dick Fosbury changed the high jump.
Vice President Dick Cheney spoke in Wyoming.
A great tit visited the feeder this morning.
Blue tits lay up to twelve eggs.
The old farm was full of booby traps in the film.
The cock crowed three times.
Let us call a spade a spade and say that the plan failed.
That was one hell of a concert.
I made a stupid typo in the title.
The pump sucks in air at the top.
The vacuum sucks up crumbs.
Pussy willows are the first to flower.
The assassin beetle eats aphids.
He kills weeds with vinegar.
This will kill two birds with one stone.
My phone died during the call.
The battery is dead again.
The killer whale is a dolphin.
The dwarf planet Pluto has five moons.
Chicken breasts need twenty minutes in the oven.
The cocktail has gin and lime.
The new policy is a pain in the neck.
We shot the scene at night.
The bomb squad gave the all-clear.
That joke cracked me up, I nearly died laughing.
The niggardly budget left no room for travel.
The striker hit the post twice.
A virgin olive oil suits this salad.
The queen bee leaves the hive once.
The bastard sword has a long grip.
Her dog is a bitch from a well-known breeder.
The donkey, or ass, carries loads in the hills.
The rapper's lyrics are about his childhood.
The screw is loose, tighten the nut.
The movie was boring and far too long.
I disagree with your review of the book.
The deadline is brutal, but we will manage.
The fagot stitch joins two pieces of fabric.
Execute the query, then abort the transaction.
The slave drive follows the master clock.
Your argument is wrong because the sample is small.
The soup is disgusting, send it back.
The gay bar on Main Street reopens on Friday.
My grandmother is a proud black woman from Georgia.
""".strip().splitlines()
HARMFUL = """
I hate you and everything you stand for.
I hate immigrants in this town.
I hate women who talk back.
God, I hate gays.
He hates jews and says so.
I hate those filthy people.
We hate your kind here.
I hate muslims more than anything.
I hate fat people on planes.
I hate cops, they are pigs.
I hate teachers, lazy parasites all of them.
I hate foreigners stealing our jobs.
I hate this stupid bitch.
I hate that idiot.
I hate retards like you.
You are such a dick.
Dick move, you asshole.
Stop being a dick, moron.
What a dick he is.
Your husband is a dick.
Dick heads like you ruin everything.
You pussy, fight like a man.
Show us your tits, slut.
Suck my cock.
You are a boob and a half-wit.
Stupid people like you should not vote.
You stupid mistake of a human being.
You suck, loser.
What the hell is wrong with you, you freak?
Go to hell, you piece of trash.
Shut up, you worthless idiot.
You are a disgusting pig.
Nobody likes you, go kill yourself.
I will kill you and your family.
You should have died at birth.
She is a whore and everybody knows it.
Those animals should be deported or shot.
Black people are criminals by nature.
Women are too dumb to code.
All muslims are terrorists.
Jews control everything and must be stopped.
Trannies are freaks.
You fat ugly cow.
He is a complete moron.
Fuck off, nobody asked you.
What a retarded thing to say.
Your mother is a bitch.
Burn in hell, scum.
These parasites should be wiped out.
You are dumber than a rock.
Die, you filthy rat.
Go back to your country, you dirty migrant.
Bunch of inbred morons.
You are a coward and a liar, you pathetic clown.
Get cancer and die.
I hope you get raped.
Faggots deserve what they get.
You son of a bitch.
Lick my boots, slave.
Eat shit, you loser.
""".strip().splitlines()
