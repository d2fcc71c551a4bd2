#include "tests/support/soft_kit.h"
#include "server/physics/soft/crowd.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
static double now(void){struct timespec t;clock_gettime(CLOCK_THREAD_CPUTIME_ID,&t);return t.tv_sec*1e3+t.tv_nsec*1e-6;}
int main(int argc,char**argv){
    f32 thick = argc>1? (f32)atof(argv[1]):0.01f; int self = argc>2?atoi(argv[2]):1; int ticks=argc>3?atoi(argv[3]):240;
    SoftKit kit = soft_kit_create(vec3(0,-9.81f,0));
    BodyDef body = body_def_default(); body.shape.kind=SHAPE_PLANE; body.motion=BODY_STATIC; body.friction=0.6f; rigid_add(kit.rigid,&body);
    SoftDef def = soft_kit_cloth_def();
    def.position = vec3(0,0.05f,0); def.orientation=(Quat){0.9990482f,0.0436194f,0,0};
    def.thickness=thick; def.damping=0.5f; def.self_collision=self; def.mass_kg=0.8f;
    SoftMesh mesh; ErrorText error; soft_mesh_grid(&mesh,100,100,2,2,&error);
    soft_kit_add(&kit,&def,&mesh);
    double total=0,begin=0,crowd=0; 
    for(int i=0;i<ticks;i++){
        rigid_collide(kit.rigid,NULL);
        double t0=now();
        soft_begin(kit.soft,kit.rigid,NULL,SOFT_KIT_TICK_S);
        double t1=now(); begin+=t1-t0; 
        rigid_prepare(kit.rigid);
        for(u32 s=0;s<8;s++){ rigid_substep(kit.rigid); soft_substep(kit.soft,kit.rigid,SOFT_KIT_TICK_S/8);}
        rigid_finish(kit.rigid);
        total+=now()-t0; 
        if((i+1)%40==0){ printf("tick %d: begin %.2f total %.2f ms, contacts %u crossings %u\n",i+1,begin/40,total/40,kit.soft->crowd?kit.soft->crowd->contact_count:0,kit.soft->crowd?kit.soft->crowd->crossing_count:0); begin=total=0; }
    }
    (void)crowd; soft_kit_destroy(&kit); return 0; }
